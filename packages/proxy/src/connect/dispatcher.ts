import { Agent, buildConnector, Dispatcher, Pool } from 'undici'
import { basic, credentialsOf } from '../members/credentials.js'
import type { ProxyUpstream } from '../members/upstream.js'
import { withProxyFaults } from './proxy-faults.js'
import { Limit, openTunnel, reach } from './tunnel.js'

type Flat = string[]
type Connect = buildConnector.connector

/** The last part of a connection through a tunnel: TLS with the target. */
const secure: Connect = buildConnector({})

/**
 * Sends requests through one proxy over connections that are kept: to an HTTP proxy plain requests in absolute form,
 * everything else through tunnels, one set of them for each origin.
 */
export class UpstreamDispatcher extends Dispatcher {
  private readonly upstream: ProxyUpstream
  private readonly authorization: string | undefined
  private readonly plain: Pool | undefined
  private readonly tunnels: Agent

  /** Without `maxHeaderSize`, the head of a response may be as long as Node allows. */
  constructor(upstream: ProxyUpstream, maxHeaderSize?: number) {
    super()
    const credentials = credentialsOf(upstream)
    const options = { pipelining: 1, ...(maxHeaderSize !== undefined && { maxHeaderSize }) }
    this.upstream = upstream
    this.authorization = credentials && basic(credentials)
    this.plain =
      upstream.protocol === 'socks5:'
        ? undefined
        : new Pool(`http://${upstream.host}`, { connect: this.toProxy, ...options })
    this.tunnels = new Agent({ connect: this.toTarget, ...options })
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(options.origin)
    const careful = withProxyFaults(handler, this.upstream.host)
    if (this.plain === undefined || !origin.startsWith('http:'))
      return this.tunnels.dispatch(options, careful)
    const path = origin + options.path
    return this.plain.dispatch({ ...options, path, headers: this.headers(options.headers, origin) }, careful)
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(after?: () => void): Promise<void> | void {
    const closed = Promise.all([this.plain?.close(), this.tunnels.close()]).then(() => {})
    return after === undefined ? closed : void closed.then(after)
  }

  override destroy(error?: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(error?: Error | null | (() => void), callback?: () => void): Promise<void> | void {
    const [reason, after] = typeof error === 'function' ? [null, error] : [error ?? null, callback]
    const destroyed = Promise.all([this.plain?.destroy(reason), this.tunnels.destroy(reason)]).then(() => {})
    return after === undefined ? destroyed : void destroyed.then(after)
  }

  /** The request's own headers, its host, which is not the proxy's, and our credentials. */
  private headers(given: Dispatcher.DispatchOptions['headers'], origin: string): Flat {
    const flat: Flat = Array.isArray(given) ? (given as Flat).slice() : flattened(given)
    let named = false
    for (let i = 0; i < flat.length; i += 2)
      if (flat[i]?.length === 4 && flat[i]?.toLowerCase() === 'host') named = true
    if (!named) flat.push('host', origin.slice(origin.indexOf('//') + 2))
    if (this.authorization !== undefined) flat.push('proxy-authorization', this.authorization)
    return flat
  }

  private readonly toProxy: Connect = (_options, hand) => {
    const limit = new Limit(this.upstream, undefined)
    reach(this.upstream, limit.signal).then(
      (socket) => {
        limit.end()
        hand(null, socket)
      },
      (error: Error) => {
        limit.end()
        hand(error, null)
      },
    )
  }

  private readonly toTarget: Connect = (options, hand) => {
    const { hostname, protocol, port } = options
    const host = hostname.replace(/^\[|\]$/g, '')
    openTunnel(this.upstream, { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) }).then(
      (socket) => {
        if (protocol === 'https:') secure({ ...options, httpSocket: socket }, hand)
        else hand(null, socket)
      },
      (error: Error) => hand(error, null),
    )
  }
}

function flattened(given: Dispatcher.DispatchOptions['headers']): Flat {
  const flat: Flat = []
  if (given === null || given === undefined) return flat
  const pairs =
    Symbol.iterator in given
      ? (given as Iterable<[string, string | string[] | undefined]>)
      : Object.entries(given)
  for (const [name, value] of pairs)
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) flat.push(name, String(one))
  return flat
}
