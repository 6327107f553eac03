import { isErrorLike } from '../classify/classification.js'
import type { Random } from '../clock.js'
import { parseTunnelStatus } from './tunnel.js'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const IDEMPOTENT_METHODS = new Set([...SAFE_METHODS, 'PUT', 'DELETE'])

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key'

/** Codes of connections that were not established: refused, unknown host name, connect timeout. */
const NOT_SENT_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
])

/** The message of Deno for a connection that was not established, with the URL of the last request. */
const DENO_CONNECT_ERROR = /^error sending request for url \((.+?)\): client error \(Connect\)/

/** Whether an address is a URL, apart from its fragment, which is not sent. */
const isSameUrl = (address: string, { href }: URL): boolean =>
  URL.canParse(address) && new URL(address).href === href.split('#')[0]

/** Whether a request of this method can arrive twice with the same effect as once. Unknown methods are not idempotent. */
export const isIdempotentMethod = (method: string): boolean => IDEMPOTENT_METHODS.has(method)

/** Whether a request of this method only reads, so that it needs no idempotency key. */
export const isSafeMethod = (method: string): boolean => SAFE_METHODS.has(method)

/**
 * Whether an error proves that its request was not sent: the connection, or the tunnel through a proxy, was not established.
 * `url` is the URL of a request whose redirects are followed, if known; an error about another host happened after a redirect,
 * when the request had already reached a server.
 */
export function wasNotSent(error: unknown, url: URL | undefined): boolean {
  for (let node = error, depth = 0; isErrorLike(node) && depth < 10; node = node.cause, depth++) {
    const { errors, code, syscall } = node
    if (Array.isArray(errors) && errors.length > 0) return errors.every((inner) => wasNotSent(inner, url))
    const unreachable = DENO_CONNECT_ERROR.exec(`${node.message}`)?.[1]
    if (unreachable !== undefined) return url === undefined || isSameUrl(unreachable, url)
    if (typeof code !== 'string') continue
    if (code === 'UND_ERR_ABORTED') break
    const isNotSent = NOT_SENT_CODES.has(code) || syscall === 'connect' || syscall === 'getaddrinfo'
    return isNotSent && !(url !== undefined && isOtherHost(node, url))
  }
  return parseTunnelStatus(error) !== undefined
}

/**
 * Whether a response proves by its status that the server did not process the request. After a redirect the status applies
 * only to the last request, which can be a GET in place of the original POST, so that it proves nothing.
 */
export function wasNotProcessed(result: unknown, statuses: ReadonlySet<number>): boolean {
  if (statuses.size === 0 || !isErrorLike(result)) return false
  const { status, response } = result
  const { redirected } = (isErrorLike(response) ? response : result) as { redirected?: unknown }
  return typeof status === 'number' && statuses.has(status) && redirected !== true
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

/** Whether a host is an IP address, so that it can be compared with the address of a connection. */
const isIpAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':')

/** Whether a failed connection was to another name, address or port than those of `url`, as far as the error has them. */
function isOtherHost(error: { readonly [key: string]: unknown }, url: URL): boolean {
  const { hostname, address, message, path } = error
  // Bun reports the URL of the first request, also after redirects, and not the address of the failed connection.
  if (/^https?:/.test(`${path}`) && hostname === undefined) return true
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // The message of undici contains the attempted name, or the addresses of the name.
  const [, attemptedHost, port] = /attempted address: (.+?):(\d+),/.exec(`${message}`) ?? []
  const singlePort = /attempted addresses: .+?:(\d+),/.exec(`${message}`)?.[1]
  const name = hostname ?? attemptedHost?.replace(/^\[|\]$/g, '')
  if (typeof name === 'string' && name !== host) return true
  if (typeof address === 'string' && isIpAddress(host) && address !== host) return true
  const attemptedPort = typeof error.port === 'number' ? error.port : Number(port ?? singlePort ?? Number.NaN)
  return !Number.isNaN(attemptedPort) && attemptedPort !== (Number(url.port) || DEFAULT_PORTS[url.protocol])
}

/** Creates a key by which a server recognizes that two requests are the same: a random UUID (version 4). */

export function createIdempotencyKey(random: Random): string {
  const hex = Array.from({ length: 8 }, () =>
    Math.floor(random() * 0x10000)
      .toString(16)
      .padStart(4, '0'),
  )
  const [a, b, c, d = '', e = '', f, g, h] = hex
  const variant = '89ab'[Number.parseInt(e[0] ?? '0', 16) & 3]
  return `${a}${b}-${c}-4${d.slice(1)}-${variant}${e.slice(1)}-${f}${g}${h}`
}
