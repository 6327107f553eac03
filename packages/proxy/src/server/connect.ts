import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Attempt } from 'holdfast'
import { dial } from '../connect/dial.js'
import type { Target } from '../connect/handshake.js'
import { Limit, openTunnel } from '../connect/tunnel.js'
import { authenticate, isRefusal } from './authenticate.js'
import { readRequest } from './head.js'
import { type House, upstreamFor } from './house.js'
import type { ProxyCall } from './options.js'
import type { PendingClient } from './pending-client.js'
import { BAD_TARGET, FORBIDDEN, PORT_FORBIDDEN, type Refusal, refusalFor, refuseSocket } from './refusals.js'
import { parseAuthority } from './target.js'

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

/** Answers CONNECT: opens a tunnel, through one proxy after another until one stands. */
export async function handleConnect(
  house: House,
  req: IncomingMessage,
  client: PendingClient,
): Promise<void> {
  const target = parseAuthority(req.url ?? '')
  await tunnel(house, req, client, target, async () => ({
    switched: true,
    told: ESTABLISHED,
  }))
}

/** Where a tunnel leads, and the name by which that is judged. */
export interface TunnelTarget extends Target {
  readonly hostname: string
}

/** What became of a tunnel: bytes pass both ways after `told`, or the client gets an answer and nothing else passes. */
export type Begun =
  | { readonly switched: true; readonly told: string }
  | { readonly switched: false; readonly answer: (client: Socket) => void }

/** Joins a client to a target by a tunnel. `begin` is called once it stands; an error it throws is the target's fault. */
export async function tunnel(
  house: House,
  req: IncomingMessage,
  pending: PendingClient,
  target: TunnelTarget | undefined,
  begin: (upstream: Socket, signal: AbortSignal) => Promise<Begun>,
): Promise<void> {
  const { targets, counts, settings } = house
  const { socket: client } = pending
  const stop = (refusal: Refusal): void => {
    counts.refused++
    refuseSocket(client, refusal)
  }
  if (target === undefined) return stop(BAD_TARGET)
  const { authorization, policy, problem } = readRequest(req.rawHeaders)
  if (problem !== undefined) return stop(problem)
  const caller = authenticate(house, authorization, client)
  if (isRefusal(caller)) return stop(caller)
  if (req.method === 'CONNECT' && settings.connectPorts?.includes(target.port) === false)
    return stop(PORT_FORBIDDEN)
  if (!(await targets.allows(target.hostname))) return stop(FORBIDDEN)
  const { user, context } = caller
  const host = `${target.hostname}:${target.port}`
  const { method = 'CONNECT' } = req
  const call: ProxyCall = { kind: 'tunnel', method, host, policy, user, context }
  let upstream: Socket | undefined
  try {
    upstream = await house
      .guardFor(call)
      .run((attempt) => open(house, attempt, target), { signal: pending.signal, context })
    const begun = await begin(upstream, pending.signal)
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
    house.tunnels.join(client, upstream, early)
  } catch (error) {
    upstream?.destroy()
    stop(refusalFor(error))
  }
}

async function open(house: House, attempt: Attempt, target: Target): Promise<Socket> {
  const upstream = upstreamFor(attempt)
  const { signal } = attempt
  const socket = await (upstream === undefined
    ? toTarget(house, target, signal)
    : openTunnel(upstream, target, signal, true))
  // Another attempt may have been quicker, or the client gone, while this one was about to end.
  if (signal.aborted) socket.destroy()
  return socket
}

async function toTarget(
  { settings, targets }: House,
  { host, port }: Target,
  signal: AbortSignal,
): Promise<Socket> {
  const limit = new Limit({ connectTimeout: settings.connectTimeout, host }, signal)
  try {
    return await dial({ host, port, lookup: targets.lookup, halfOpen: true, signal: limit.signal })
  } finally {
    limit.end()
  }
}
