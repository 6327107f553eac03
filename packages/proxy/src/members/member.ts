import type { Member } from 'holdfast'
import { ProxyUpstream, type UpstreamOptions } from '../connect/upstream.js'

/** What a proxy may be given besides its URL: what any member of a pool takes, and how it is reached. */
export interface ProxyMemberOptions extends Omit<Partial<Member>, 'value'>, UpstreamOptions {}

/**
 * Makes a member of a pool of a proxy's URL: `http://`, `https://` or `socks5://`, with or without credentials. Its id is
 * `host:port` unless another is given; the credentials are in nothing that can be shown.
 *
 * @throws INVALID_OPTIONS where the URL is none, without repeating it
 *
 * @example
 * ```ts
 * import { proxyMember } from '@holdfast/proxy'
 * import { Pool } from 'holdfast'
 *
 * const member = proxyMember('http://user:secret@p1.example:8080', { region: 'us-east', weight: 2 })
 * member.id // => 'p1.example:8080'
 * JSON.stringify(member.value) // => '"http://p1.example:8080"'
 * new Pool({ id: 'proxies', members: [member] }).size // => 1
 * ```
 */
export function proxyMember(url: string | URL, options: ProxyMemberOptions = {}): Member<ProxyUpstream> {
  const { connectTimeout, tls, id, ...rest } = options
  const upstreamOptions: UpstreamOptions = {}
  if (connectTimeout !== undefined) upstreamOptions.connectTimeout = connectTimeout
  if (tls !== undefined) upstreamOptions.tls = tls
  const value = new ProxyUpstream(url, upstreamOptions)
  return { ...rest, id: id ?? value.host, value }
}

const upstreamByValue = new WeakMap<object, ProxyUpstream>()

/**
 * The proxy that a member stands for: its value where that is one, or what its value's `url` says. Made once for each
 * value, so that connections are kept.
 */
export function upstreamOf(value: unknown): ProxyUpstream {
  if (value instanceof ProxyUpstream) return value
  const { url } = Object(value) as { url?: unknown }
  if (typeof url !== 'string' && !(url instanceof URL))
    throw new TypeError('expected a pool member made with proxyMember, got another value')
  const key = value as object
  const found = upstreamByValue.get(key) ?? new ProxyUpstream(url)
  upstreamByValue.set(key, found)
  return found
}
