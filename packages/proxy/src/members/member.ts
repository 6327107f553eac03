import type { Member } from 'holdfast'
import { ProxyUpstream, type UpstreamOptions } from '../connect/upstream.js'

/** The options of a proxy: those of any pool member, and those of its connections. */
export interface ProxyMemberOptions extends Omit<Partial<Member>, 'value'>, UpstreamOptions {}

/**
 * Creates a pool member for the URL of a proxy: `http://`, `https://` or `socks5://`, with or without credentials. Its
 * default id is `host:port`; the credentials are never logged or serialized.
 *
 * @throws INVALID_OPTIONS for a URL that is not valid, without repeating it
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
 * The proxy of a member: its value, or a proxy for the `url` of its value. It is created once for each value, so that
 * connections are reused.
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
