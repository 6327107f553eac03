import type { ConnectionOptions } from 'node:tls'
import { inspect } from 'node:util'
import type { Duration } from 'holdfast'
import {
  createOptionsError,
  createProblem,
  isInstanceOfAnyCopy,
  type OptionProblem,
  parseOptions,
  timerDuration,
} from 'holdfast/internal'
import type { Dispatcher } from 'undici'
import { type Credentials, setCredentials } from './credentials.js'
import { UpstreamDispatcher } from './dispatcher.js'

/** The protocol of a proxy. */
export type ProxyProtocol = 'http:' | 'https:' | 'socks5:'

/** The options of a connection to a proxy. */
export interface UpstreamOptions {
  /** How long connecting to the proxy and opening a tunnel can take. @defaultValue '10s' */
  connectTimeout?: Duration
  /** Options of TLS for `https://` proxies, such as `ca`. @defaultValue those of Node */
  tls?: ConnectionOptions
}

const DEFAULT_PORTS: Readonly<Record<ProxyProtocol, number>> = { 'http:': 80, 'https:': 443, 'socks5:': 1080 }

/**
 * An upstream proxy: the `value` of the members of a pool of proxies. Its credentials are not in its properties, so it is
 * logged and serialized without them.
 *
 * @example
 * ```ts
 * import { ProxyUpstream } from '@holdfast/proxy'
 *
 * const upstream = new ProxyUpstream('socks5://user:secret@p1.example')
 * upstream.host // => 'p1.example:1080'
 * JSON.stringify(upstream) // => '"socks5://p1.example:1080"'
 * new ProxyUpstream('ftp://p1.example') // throws INVALID_OPTIONS
 * ```
 */
export class ProxyUpstream {
  /** Makes `instanceof` true for proxies of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'upstreamVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get upstreamVersion(): number {
    return 1
  }

  /** The protocol of the proxy. */
  readonly protocol: ProxyProtocol
  /** The name or address, without brackets. */
  readonly hostname: string
  /** The port. */
  readonly port: number
  /** The name and port, as in a URL. */
  readonly host: string
  /** How long connecting can take, in milliseconds. */
  readonly connectTimeout: number
  #tls: ConnectionOptions
  readonly #dispatchers = new Map<number | undefined, UpstreamDispatcher>()

  /** @throws INVALID_OPTIONS that describes the problem of the URL without repeating it, because it can contain a password */
  constructor(url: string | URL, { connectTimeout = '10s', tls = {} }: UpstreamOptions = {}) {
    const parsed = parseUpstreamUrl(url)
    this.protocol = parsed.protocol
    this.hostname = parsed.hostname.replace(/^\[|\]$/g, '')
    this.port = parsed.port
    this.host = `${parsed.hostname}:${parsed.port}`
    this.connectTimeout = parseTimeout(connectTimeout)
    this.#tls = tls
    if (parsed.credentials !== undefined) setCredentials(this, parsed.credentials)
  }

  /** A dispatcher of undici that sends through this proxy; created when it is first read. */
  get dispatcher(): Dispatcher {
    return this.dispatcherFor(undefined)
  }

  /** @internal The dispatcher with a maximum size of response heads; created when it is first used. */
  dispatcherFor(maxHeaderSize: number | undefined): Dispatcher {
    const found = this.#dispatchers.get(maxHeaderSize) ?? new UpstreamDispatcher(this, maxHeaderSize)
    this.#dispatchers.set(maxHeaderSize, found)
    return found
  }

  /** @internal */
  get tls(): ConnectionOptions {
    return this.#tls
  }

  /** The URL without credentials. */
  toString(): string {
    return `${this.protocol}//${this.host}`
  }

  /** The URL without credentials, so that a member can be serialized. */
  toJSON(): string {
    return this.toString()
  }

  [inspect.custom](): string {
    return `ProxyUpstream(${this.toString()})`
  }
}

function parseTimeout(connectTimeout: Duration): number {
  const problems: OptionProblem[] = []
  const spec = { connectTimeout: [undefined, timerDuration] } as const
  const parsed = parseOptions('', { connectTimeout }, { connectTimeout: 0 }, spec, problems)
  if (problems.length > 0) throw createOptionsError('invalid proxy member', problems)
  return parsed.connectTimeout
}

const URL_SCHEMES = 'http://, https://, socks5:// or socks5h://'

const urlProblem = (expected: string, got: string): OptionProblem =>
  createProblem('url', 'invalid', expected, got)

interface ParsedUpstream {
  readonly protocol: ProxyProtocol
  readonly hostname: string
  readonly port: number
  readonly credentials: Credentials | undefined
}

function parseUpstreamUrl(input: string | URL): ParsedUpstream {
  const text = String(input)
  if (!URL.canParse(text))
    throw createOptionsError('invalid proxy member', [
      urlProblem(`${URL_SCHEMES} with a host and a port`, 'a text that is not a URL'),
    ])
  const scheme = new URL(text).protocol.replace('socks5h:', 'socks5:').replace('socks:', 'socks5:')
  if (!Object.hasOwn(DEFAULT_PORTS, scheme))
    throw createOptionsError('invalid proxy member', [
      urlProblem(URL_SCHEMES, `the scheme ${JSON.stringify(scheme.slice(0, 20))}`),
    ])
  const protocol = scheme as ProxyProtocol
  // The host is parsed with the rules of http URLs for every scheme.
  const url = new URL(`http:${text.slice(text.indexOf(':') + 1)}`)
  const problems: OptionProblem[] = []
  if (url.hostname === '') problems.push(urlProblem('a host', 'none'))
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    problems.push(urlProblem('only a host and a port', 'a path'))
  // The URL parser removes port 80 from an http URL, but the port can be given explicitly.
  const explicit = /:(\d+)\/?$/.exec(text)?.[1]
  const port = Number(url.port || explicit || DEFAULT_PORTS[protocol])
  if (port === 0) problems.push(urlProblem('a port from 1 to 65535', '0'))
  if (problems.length > 0) throw createOptionsError('invalid proxy member', problems)
  const { hostname, username, password } = url
  const credentials = username === '' && password === '' ? undefined : decodeCredentials(username, password)
  return { protocol, hostname, port, credentials }
}

function decodeCredentials(username: string, password: string): Credentials {
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    // A single % is not an encoding.
    return { username, password }
  }
}
