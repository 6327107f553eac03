import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Attempt } from 'holdfast'
import { connectSocket } from '../connect/connect-socket.js'
import type { TunnelTarget } from '../connect/handshake.js'
import { ConnectDeadline, openTunnel } from '../connect/tunnel.js'
import { authenticate, isErrorResponse } from './authenticate.js'
import { type ProxyHandlerContext, upstreamOfAttempt } from './context.js'
import {
  BAD_TARGET,
  type ErrorResponse,
  FORBIDDEN,
  PORT_FORBIDDEN,
  sendErrorOnSocket,
  toErrorResponse,
} from './error-responses.js'
import { parseRequestHead } from './headers.js'
import type { ProxyCall } from './options.js'
import type { PendingClient } from './pending-client.js'
import { parseAuthority } from './target.js'

const CONNECTION_ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

/** Handles CONNECT: tries one proxy after another until a tunnel is open. */
export async function handleConnect(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  client: PendingClient,
): Promise<void> {
  const target = parseAuthority(req.url ?? '')
  await openClientTunnel(proxyContext, req, client, target, async () => ({
    hasSwitched: true,
    head: CONNECTION_ESTABLISHED,
  }))
}

/** The target of a tunnel, with the host name that the target policy checks. */
export interface RequestedTunnel extends TunnelTarget {
  readonly hostname: string
}

/** The result of opening a tunnel: bytes pass in both directions after `head`, or the client gets only a response. */
export type TunnelResult =
  | { readonly hasSwitched: true; readonly head: string }
  | { readonly hasSwitched: false; readonly respond: (client: Socket) => void }

/** Connects a client to a target through a tunnel. `onTunnelOpen` is called when the tunnel is open; an error that it throws is a fault of the target. */
export async function openClientTunnel(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  pending: PendingClient,
  target: RequestedTunnel | undefined,
  onTunnelOpen: (upstream: Socket, signal: AbortSignal) => Promise<TunnelResult>,
): Promise<void> {
  const { targets, counts, settings } = proxyContext
  const { socket: client } = pending
  const reject = (errorResponse: ErrorResponse): void => {
    counts.refused++
    sendErrorOnSocket(client, errorResponse)
  }
  if (target === undefined) return reject(BAD_TARGET)
  const { authorization, policy, problem } = parseRequestHead(req)
  if (problem !== undefined) return reject(problem)
  const caller = authenticate(proxyContext, authorization, client)
  if (isErrorResponse(caller)) return reject(caller)
  if (req.method === 'CONNECT' && settings.connectPorts?.includes(target.port) === false)
    return reject(PORT_FORBIDDEN)
  if (!(await targets.allows(target.hostname))) return reject(FORBIDDEN)
  const { user, context } = caller
  const host = `${target.hostname}:${target.port}`
  const { method = 'CONNECT' } = req
  const call: ProxyCall = { kind: 'tunnel', method, host, policy, user, context }
  let upstream: Socket | undefined
  try {
    upstream = await proxyContext
      .guardFor(call)
      .run((attempt) => openForAttempt(proxyContext, attempt, target), { signal: pending.signal, context })
    // The connection can be reset while the outcome of the attempt is sent to the primary process and back.
    if (upstream.destroyed) throw new Error('the connection was closed before the tunnel was open')
    const result = await onTunnelOpen(upstream, pending.signal)
    const early = pending.end()
    if (!client.writable) {
      upstream.destroy()
      client.destroy()
      return
    }
    if (!result.hasSwitched) {
      counts.requests++
      result.respond(client)
      return
    }
    counts.tunnels++
    client.write(result.head, 'latin1')
    proxyContext.tunnels.join(client, upstream, early)
  } catch (error) {
    upstream?.destroy()
    reject(toErrorResponse(error))
  }
}

async function openForAttempt(
  proxyContext: ProxyHandlerContext,
  attempt: Attempt,
  target: TunnelTarget,
): Promise<Socket> {
  const upstream = upstreamOfAttempt(attempt)
  const { signal } = attempt
  const socket = await (upstream === undefined
    ? connectToTarget(proxyContext, target, signal)
    : openTunnel(upstream, target, signal, true))
  // The attempt can be aborted while it completes: another attempt was faster, or the client disconnected.
  if (signal.aborted) socket.destroy()
  return socket
}

async function connectToTarget(
  { settings, targets }: ProxyHandlerContext,
  { host, port }: TunnelTarget,
  signal: AbortSignal,
): Promise<Socket> {
  const deadline = new ConnectDeadline({ connectTimeout: settings.connectTimeout, host }, signal)
  try {
    return await connectSocket({
      host,
      port,
      lookup: targets.lookup,
      halfOpen: true,
      signal: deadline.signal,
    })
  } finally {
    deadline.end()
  }
}
