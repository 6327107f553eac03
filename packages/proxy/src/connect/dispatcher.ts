import { Agent, buildConnector, Dispatcher, Pool } from 'undici'
import { basicAuthorization, credentialsOf } from './credentials.js'
import { withProxyFaults } from './proxy-faults.js'
import { ConnectDeadline, connectToProxy, openTunnel } from './tunnel.js'
import type { ProxyUpstream } from './upstream.js'

type FlatHeaderList = string[]
type ConnectFunction = buildConnector.connector

/** Establishes TLS with the target inside a tunnel. */
const connectTls: ConnectFunction = buildConnector({})

/**
 * Sends requests through one proxy over keep-alive connections: plain HTTP requests in absolute form to an HTTP proxy,
 * everything else through tunnels, with a set of tunnels for each origin.
 */
export class UpstreamDispatcher extends Dispatcher {
  private readonly upstream: ProxyUpstream
  private readonly authorization: string | undefined
  private readonly plainPool: Pool | undefined
  private readonly tunnelAgent: Agent

  /** Without `maxHeaderSize`, the head of a response can be as long as Node allows. */
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

  /** The headers of the request, the Host header of the target, and the credentials for the proxy. */
  private buildHeaders(input: Dispatcher.DispatchOptions['headers'], origin: string): FlatHeaderList {
    const flat: FlatHeaderList = Array.isArray(input)
      ? (input as FlatHeaderList).slice()
      : flattenHeaders(input)
    let hasHost = false
    for (let i = 0; i < flat.length; i += 2)
      if (flat[i]?.length === 4 && flat[i]?.toLowerCase() === 'host') hasHost = true
    if (!hasHost) flat.push('host', origin.slice(origin.indexOf('//') + 2))
    if (this.authorization !== undefined) flat.push('proxy-authorization', this.authorization)
    return flat
  }

  private readonly connectToUpstream: ConnectFunction = (_options, onConnected) => {
    const deadline = new ConnectDeadline(this.upstream, undefined)
    connectToProxy(this.upstream, deadline.signal).then(
      (socket) => {
        deadline.end()
        onConnected(null, socket)
      },
      (error: Error) => {
        deadline.end()
        onConnected(error, null)
      },
    )
  }

  private readonly connectThroughTunnel: ConnectFunction = (options, onConnected) => {
    const { hostname, protocol, port } = options
    const host = hostname.replace(/^\[|\]$/g, '')
    openTunnel(this.upstream, { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) }).then(
      (socket) => {
        if (protocol === 'https:') connectTls({ ...options, httpSocket: socket }, onConnected)
        else onConnected(null, socket)
      },
      (error: Error) => onConnected(error, null),
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
