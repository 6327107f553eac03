import type { Member } from 'holdfast'
import { parseMemberList } from 'holdfast/internal'
import type { ProxyUpstream } from '../connect/upstream.js'
import { type ProxyMemberOptions, proxyMember } from './member.js'

/**
 * Parses a list of proxies in the form of lines, JSON or CSV. The format is detected.
 *
 * - Lines: `http://user:password@host:port`, `host:port` or `host:port:user:password`, followed by any of `id=`, `weight=`,
 *   `region=`, `cost=`, `tags=a;b`; empty lines and lines that begin with # are ignored.
 * - JSON: an array, or an object with an array `members`, of such strings or of objects with `url`, or with `protocol`,
 *   `host`, `port`, `username` and `password`.
 * - CSV: the first line has the names of these fields.
 *
 * A repeated id gets a number, because one host can be listed with several users.
 *
 * @throws INVALID_OPTIONS that lists every invalid entry by its position and not by its content, which can contain passwords
 *
 * @example
 * ```ts
 * import { parseProxyList } from '@holdfast/proxy'
 *
 * const members = parseProxyList(`
 *   # two of them
 *   http://u:secret@p1.example:8080 region=eu weight=2
 *   p2.example:3128:u:secret
 * `)
 * members.map(({ id, region }) => [id, region]) // => [['p1.example:8080', 'eu'], ['p2.example:3128', undefined]]
 * parseProxyList('[{ "host": "p3.example", "port": 1080, "protocol": "socks5" }]').length // => 1
 * parseProxyList('ftp://p4.example') // throws INVALID_OPTIONS
 * ```
 */
export function parseProxyList(text: string): Member<ProxyUpstream>[] {
  const ids = new Map<string, number>()
  return parseMemberList(text, ({ url, location, ...options }) => {
    void location
    const member = proxyMember(url, options as ProxyMemberOptions)
    const count = (ids.get(member.id) ?? 0) + 1
    ids.set(member.id, count)
    return count === 1 ? member : { ...member, id: `${member.id}#${count}` }
  })
}
