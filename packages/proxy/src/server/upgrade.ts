import { type IncomingMessage, request, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { destroyOnAbort } from '../connect/connect-socket.js'
import { ConnectDeadline } from '../connect/tunnel.js'
import { openClientTunnel, type TunnelResult } from './connect.js'
import type { ProxyHandlerContext } from './context.js'
import { parseRequestHead, parseResponseHead } from './headers.js'
import { closeGracefully } from './linger.js'
import type { PendingClient } from './pending-client.js'
import { parseAbsolute, type RequestTarget } from './target.js'

/** Handles a WebSocket request in absolute form: its handshake is sent to the target over a tunnel. */
export async function handleWebSocket(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  client: PendingClient,
): Promise<void> {
  const parsed = parseAbsolute(req.url ?? '')
  const target = parsed === undefined || !parsed.target.origin.startsWith('http:') ? undefined : parsed.target
  await openClientTunnel(proxyContext, req, client, target && toTunnelTarget(target), (upstream, signal) =>
    performHandshake(proxyContext, req, upstream, target as RequestTarget, parsed?.path ?? '/', signal),
  )
}

function toTunnelTarget({ hostname, origin }: RequestTarget): {
  hostname: string
  host: string
  port: number
} {
  return { hostname, host: hostname.replace(/^\[|\]$/g, ''), port: Number(new URL(origin).port || 80) }
}

/** Whether a request is a WebSocket handshake, which has no body. Other upgrades are ignored. */
export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  const { upgrade, 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return method === 'GET' && upgrade?.toLowerCase() === 'websocket' && length === '0' && coding === undefined
}

/** The options of Connection that do not apply to a request without an upgrade, as the last of its connection. */
const DROPPED_OPTIONS = ['upgrade', 'keep-alive', 'close']

/**
 * The head of a request without its upgrade, as the last of its connection. A server may ignore an upgrade, and the request is
 * parsed again as an ordinary one, so that only its own body is read as part of it. Connection still lists the headers that
 * are only for this hop, because the proxy needs some of them, such as those that frame the body.
 */
export function removeUpgrade({ method, url, httpVersion, rawHeaders, headers }: IncomingMessage): Buffer {
  const options = (headers.connection ?? '').split(',').map((option) => option.trim())
  const listed = options.filter((option) => option !== '' && !DROPPED_OPTIONS.includes(option.toLowerCase()))
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!['connection', 'upgrade'].includes((rawHeaders[i] as string).toLowerCase()))
      text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  return Buffer.from(`${text}Connection: ${['close', ...listed].join(', ')}\r\n\r\n`, 'latin1')
}

/** Sends the handshake to the target, and reads the head of its response. */
async function performHandshake(
  { settings }: ProxyHandlerContext,
  req: IncomingMessage,
  upstream: Socket,
  { host }: RequestTarget,
  path: string,
  signal: AbortSignal,
): Promise<TunnelResult> {
  const deadline = new ConnectDeadline({ connectTimeout: settings.responseTimeout, host }, signal)
  const release = destroyOnAbort(upstream, deadline.signal)
  const { headers } = parseRequestHead(req)
  try {
    return await new Promise((resolve, reject) => {
      const handshake = request({
        createConnection: () => upstream,
        method: 'GET',
        path,
        headers: ['Host', host, ...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
        setHost: false,
        maxHeaderSize: settings.maxHeaderSize,
      })
      handshake.on('error', reject)
      // The socket of a tunnel is paused, and the parser listens to it only now.
      handshake.on('socket', (socket) => socket.resume())
      handshake.on('upgrade', (response: IncomingMessage, _socket: Socket, early: Buffer) => {
        if (early.length > 0) upstream.unshift(early)
        resolve({ hasSwitched: true, head: formatHead(response) })
      })
      handshake.on('response', (response: IncomingMessage) =>
        resolve({
          hasSwitched: false,
          respond: (client) => forwardResponse(req, response, client, settings.idleTimeout),
        }),
      )
      handshake.end()
    })
  } finally {
    release()
    deadline.end()
  }
}

function formatHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  return `${text}\r\n`
}

/** Sends the client the response of a target that did not switch protocols, and closes both connections after it. */
function forwardResponse(
  req: IncomingMessage,
  response: IncomingMessage,
  client: Socket,
  idleTimeout: number,
): void {
  const { statusCode = 502, statusMessage = '', rawHeaders } = response
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.assignSocket(client)
  // The client can already send data of the other protocol, which is dropped.
  client.on('error', () => {}).resume()
  client.setTimeout(idleTimeout, () => client.destroy())
  client.on('close', () => response.destroy())
  const { headers } = parseResponseHead(statusCode, rawHeaders)
  res.writeHead(statusCode, statusMessage, headers)
  pipeline(response, res, (error) => {
    response.socket.destroy()
    if (error) client.destroy()
    else closeGracefully(client)
  })
}
