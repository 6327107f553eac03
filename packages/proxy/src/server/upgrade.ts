import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { abortable } from '../connect/dial.js'
import { readHead } from '../connect/handshake.js'
import { Limit } from '../connect/tunnel.js'
import { tunnel } from './connect.js'
import { readRequest } from './head.js'
import type { House } from './house.js'
import { parseAbsolute, type RequestTarget } from './target.js'

/**
 * Answers a request in absolute form that asks for another protocol. A WebSocket gets a tunnel in which the request is
 * sent on. What asks for anything else is sent on without that wish, as the only request of its connection.
 */
export async function handleUpgrade(
  house: House,
  req: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  const parsed = parseAbsolute(req.url ?? '')
  const target = parsed === undefined || !parsed.target.origin.startsWith('http:') ? undefined : parsed.target
  const request = target && requestFor(req, target, parsed?.path ?? '/')
  await tunnel(house, req, client, head, target && placeOf(target), async (upstream, signal) => {
    upstream.write(request as string, 'latin1')
    if (!isWebSocket(req)) return ''
    return answerOf(upstream, signal, house.settings.responseTimeout, target?.host ?? '')
  })
}

function placeOf({ hostname, origin }: RequestTarget): { hostname: string; host: string; port: number } {
  return { hostname, host: hostname.replace(/^\[|\]$/g, ''), port: Number(new URL(origin).port || 80) }
}

/** Whether a request asks for a WebSocket, which nothing else can stand in for. */
export const isWebSocket = (req: IncomingMessage): boolean =>
  req.headers.upgrade?.toLowerCase() === 'websocket'

/** The head of the request as the target gets it. */
function requestFor(req: IncomingMessage, { host }: RequestTarget, path: string): string {
  const { headers, chunked, contentLength } = readRequest(req.rawHeaders)
  const own = isWebSocket(req) ? ['Connection', 'Upgrade', 'Upgrade', 'websocket'] : ['Connection', 'close']
  const length = chunked
    ? ['Transfer-Encoding', 'chunked']
    : contentLength > 0
      ? ['Content-Length', String(contentLength)]
      : []
  return headOf(`${req.method} ${path} HTTP/1.1`, ['Host', host, ...headers, ...own, ...length])
}

function headOf(first: string, headers: readonly string[]): string {
  let text = `${first}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

/** The head of the target's answer. Unless the protocol is changed, nothing else may come over this connection. */
async function answerOf(
  upstream: Socket,
  signal: AbortSignal,
  timeout: number,
  host: string,
): Promise<string> {
  const limit = new Limit({ connectTimeout: timeout, host }, signal)
  const release = abortable(upstream, limit.signal)
  try {
    const lines = await readHead(upstream, host)
    if (/^HTTP\/1\.1 101(?: |$)/.test(lines[0] ?? '')) return `${lines.join('\r\n')}\r\n\r\n`
    const kept = lines.filter((line) => !/^(connection|keep-alive|proxy-[a-z-]+):/i.test(line))
    return `${kept.join('\r\n')}\r\nConnection: close\r\n\r\n`
  } finally {
    release()
    limit.end()
  }
}
