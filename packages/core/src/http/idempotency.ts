import { isErrorLike } from '../classify/classification.js'
import type { Random } from '../clock.js'
import { parseTunnelStatus } from './tunnel.js'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const IDEMPOTENT_METHODS = new Set([...SAFE_METHODS, 'PUT', 'DELETE'])

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key'

/** Codes of connections that never came to be: refused, no such name, no answer to the first packet. */
const NOT_SENT_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
])

/** Whether a request of this method does the same when it arrives twice. Methods nobody knows do not. */
export const isIdempotentMethod = (method: string): boolean => IDEMPOTENT_METHODS.has(method)

/** Whether a request of this method only reads, so that a key for it would be of no use. */
export const isSafeMethod = (method: string): boolean => SAFE_METHODS.has(method)

/**
 * Whether an error proves that its request never left: there was no connection to send it on, or no
 * tunnel through a proxy. `url` is where it went, if that is known; an error about another place came after a redirect,
 * and by then the request had arrived.
 */
export function wasNotSent(error: unknown, url: URL | undefined): boolean {
  for (let node = error, depth = 0; isErrorLike(node) && depth < 10; node = node.cause, depth++) {
    const { errors, code, syscall } = node
    if (Array.isArray(errors) && errors.length > 0) return errors.every((one) => wasNotSent(one, url))
    if (typeof code !== 'string') continue
    if (code === 'UND_ERR_ABORTED') break
    const isNotSent = NOT_SENT_CODES.has(code) || syscall === 'connect' || syscall === 'getaddrinfo'
    return isNotSent && !(url !== undefined && isOtherHost(node, url))
  }
  return parseTunnelStatus(error) !== undefined
}

/**
 * Whether an answer proves that the server did not process the request: its status is one of those that say so. The
 * answer to a request that was redirected says so of the last request only, and a redirected POST may have become a GET.
 */
export function wasNotProcessed(result: unknown, statuses: ReadonlySet<number>): boolean {
  if (statuses.size === 0 || !isErrorLike(result)) return false
  const { status, response } = result
  const { redirected } = (isErrorLike(response) ? response : result) as { redirected?: unknown }
  return typeof status === 'number' && statuses.has(status) && redirected !== true
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

/** Whether a host is an address, so that the one that was tried can be compared with it. */
const isIpAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':')

/** Whether a failed connection was one to another name, address or port than those of `url`, as far as it tells. */
function isOtherHost(error: { readonly [key: string]: unknown }, url: URL): boolean {
  const { hostname, address, message } = error
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // undici says which name it tried, or which addresses that name has.
  const [, tried, port] = /attempted address: (.+?):(\d+),/.exec(`${message}`) ?? []
  const singlePort = /attempted addresses: .+?:(\d+),/.exec(`${message}`)?.[1]
  const name = hostname ?? tried?.replace(/^\[|\]$/g, '')
  if (typeof name === 'string' && name !== host) return true
  if (typeof address === 'string' && isIpAddress(host) && address !== host) return true
  const attemptedPort = typeof error.port === 'number' ? error.port : Number(port ?? singlePort ?? Number.NaN)
  return !Number.isNaN(attemptedPort) && attemptedPort !== (Number(url.port) || DEFAULT_PORTS[url.protocol])
}

/** The key that tells a server that two requests are one: 128 bits of chance, in the form of a UUID. */
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
