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

/** Answers CONNECT: opens a tunnel, through one proxy after another until one stands. */
export async function handleConnect(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  client: PendingClient,
): Promise<void> {
  const target = parseAuthority(req.url ?? '')
  await openClientTunnel(proxyContext, req, client, target, async () => ({
    switched: true,
    told: CONNECTION_ESTABLISHED,
  }))
}

/** Where a tunnel leads, and the name by which that is judged. */
export interface RequestedTunnel extends TunnelTarget {
  readonly hostname: string
}

/** What became of a tunnel: bytes pass both ways after `told`, or the client gets an answer and nothing else passes. */
export type Begun =
  | { readonly switched: true; readonly told: string }
  | { readonly switched: false; readonly answer: (client: Socket) => void }

/** Joins a client to a target by a tunnel. `onTunnelOpen` is called once it stands; an error it throws is the target's fault. */
export async function openClientTunnel(
  proxyContext: ProxyHandlerContext,
  req: IncomingMessage,
  pending: PendingClient,
  target: RequestedTunnel | undefined,
  onTunnelOpen: (upstream: Socket, signal: AbortSignal) => Promise<Begun>,
): Promise<void> {
  const { targets, counts, settings } = proxyContext
  const { socket: client } = pending
  const reject = (errorResponse: ErrorResponse): void => {
    counts.refused++
    sendErrorOnSocket(client, errorResponse)
  }
  if (target === undefined) return reject(BAD_TARGET)
  const { authorization, policy, problem } = parseRequestHead(req.rawHeaders)
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
    const begun = await onTunnelOpen(upstream, pending.signal)
    const early = pending.end()
    if (!client.writable) {
      upstream.destroy()
      client.destroy()
      return
    }
    if (!begun.switched) {
      counts.requests++
      begun.answer(client)
      return
    }
    counts.tunnels++
    client.write(begun.told, 'latin1')
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
  // Another attempt may have been quicker, or the client gone, while this one was about to end.
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
