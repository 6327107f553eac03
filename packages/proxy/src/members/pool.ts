import { type Member, Pool, type PoolOptions } from 'holdfast'
import type { ProxyUpstream } from '../connect/upstream.js'
import { proxyMember } from './member.js'

/** What a pool of proxies is made of: members may be URLs. */
export interface ProxyPoolOptions extends Omit<PoolOptions<ProxyUpstream>, 'members'> {
  /** Who is in it at first: URLs, or members made by {@link proxyMember}. @defaultValue none */
  members?: readonly (string | Member<ProxyUpstream>)[]
}

/** The statuses that speak of a proxy rather than of the request: banned, not let in, too often, not from here. */
export const PROXY_FAULTS: readonly number[] = Object.freeze([403, 407, 429, 451])

/**
 * Makes a pool of proxies. It differs from `new Pool` in that members may be URLs and that 403, 407, 429 and 451 speak of the
 * member: such an answer fails over to another, and counts against the first only when the other answers otherwise.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { proxyPool } from '@holdfast/proxy'
 *
 * const pool = proxyPool({ id: 'proxies', members: ['http://p1.example:8080', 'socks5://u:secret@p2.example:1080'] })
 * pool.members().map(({ id }) => id) // => ['p1.example:8080', 'p2.example:1080']
 * ```
 */
export function proxyPool({ members = [], ...options }: ProxyPoolOptions): Pool<ProxyUpstream> {
  return new Pool<ProxyUpstream>({
    memberFaults: PROXY_FAULTS,
    ...options,
    members: members.map((member) => (typeof member === 'string' ? proxyMember(member) : member)),
  })
}
