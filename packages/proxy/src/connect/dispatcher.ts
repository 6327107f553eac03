import { Agent, buildConnector, Dispatcher, Pool } from 'undici'
import { basicAuthorization, credentialsOf } from './credentials.js'
import { withProxyFaults } from './proxy-faults.js'
import { ConnectDeadline, connectToProxy, openTunnel } from './tunnel.js'
import type { ProxyUpstream } from './upstream.js'

type FlatHeaderList = string[]
type ConnectFunction = buildConnector.connector

/** The last part of a connection through a tunnel: TLS with the target. */
const connectTls: ConnectFunction = buildConnector({})

/**
 * Sends requests through one proxy over connections that are kept: to an HTTP proxy plain requests in absolute form,
 * everything else through tunnels, one set of them for each origin.
 */
export class UpstreamDispatcher extends Dispatcher {
  private readonly upstream: ProxyUpstream
  private readonly authorization: string | undefined
  private readonly plainPool: Pool | undefined
  private readonly tunnelAgent: Agent

  /** Without `maxHeaderSize`, the head of a response may be as long as Node allows. */
  constructor(upstream: ProxyUpstream, maxHeaderSize?: number) {
    super()
    const credentials = credentialsOf(upstream)
    const options = { pipelining: 1, ...(maxHeaderSize !== undefined && { maxHeaderSize }) }
    this.upstream = upstream
    this.authorization = credentials && basicAuthorization(credentials)
    this.plainPool =
      upstream.protocol === 'socks5:'
        ? undefined
        : new Pool(`http://${upstream.host}`, { connect: this.connectToUpstream, ...options })
    this.tunnelAgent = new Agent({ connect: this.connectThroughTunnel, ...options })
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(options.origin)
    const faultHandler = withProxyFaults(handler, this.upstream.host)
    if (this.plainPool === undefined || !origin.startsWith('http:'))
      return this.tunnelAgent.dispatch(options, faultHandler)
    const path = origin + options.path
    return this.plainPool.dispatch(
      { ...options, path, headers: this.buildHeaders(options.headers, origin) },
      faultHandler,
    )
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(after?: () => void): Promise<void> | void {
    const closed = Promise.all([this.plainPool?.close(), this.tunnelAgent.close()]).then(() => {})
    return after === undefined ? closed : void closed.then(after)
  }

  override destroy(error?: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(error?: Error | null | (() => void), callback?: () => void): Promise<void> | void {
    const [reason, after] = typeof error === 'function' ? [null, error] : [error ?? null, callback]
    const destroyed = Promise.all([this.plainPool?.destroy(reason), this.tunnelAgent.destroy(reason)]).then(
      () => {},
    )
    return after === undefined ? destroyed : void destroyed.then(after)
  }

  /** The request's own headers, its host, which is not the proxy's, and our credentials. */
  private buildHeaders(input: Dispatcher.DispatchOptions['headers'], origin: string): FlatHeaderList {
    const flat: FlatHeaderList = Array.isArray(input)
      ? (input as FlatHeaderList).slice()
      : flattenHeaders(input)
    let named = false
    for (let i = 0; i < flat.length; i += 2)
      if (flat[i]?.length === 4 && flat[i]?.toLowerCase() === 'host') named = true
    if (!named) flat.push('host', origin.slice(origin.indexOf('//') + 2))
    if (this.authorization !== undefined) flat.push('proxy-authorization', this.authorization)
    return flat
  }

  private readonly connectToUpstream: ConnectFunction = (_options, hand) => {
    const limit = new ConnectDeadline(this.upstream, undefined)
    connectToProxy(this.upstream, limit.signal).then(
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

  private readonly connectThroughTunnel: ConnectFunction = (options, hand) => {
    const { hostname, protocol, port } = options
    const host = hostname.replace(/^\[|\]$/g, '')
    openTunnel(this.upstream, { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) }).then(
      (socket) => {
        if (protocol === 'https:') connectTls({ ...options, httpSocket: socket }, hand)
        else hand(null, socket)
      },
      (error: Error) => hand(error, null),
    )
  }
}

function flattenHeaders(input: Dispatcher.DispatchOptions['headers']): FlatHeaderList {
  const flat: FlatHeaderList = []
  if (input === null || input === undefined) return flat
  const pairs =
    Symbol.iterator in input
      ? (input as Iterable<[string, string | string[] | undefined]>)
      : Object.entries(input)
  for (const [name, value] of pairs)
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) flat.push(name, String(one))
  return flat
}
