import { type Member, Pool, type PoolOptions } from 'holdfast'
import type { ProxyUpstream } from '../connect/upstream.js'
import { proxyMember } from './member.js'

/** The options of a pool of proxies. Members can be URLs. */
export interface ProxyPoolOptions extends Omit<PoolOptions<ProxyUpstream>, 'members'> {
  /** The initial members: URLs, or members created by {@link proxyMember}. @defaultValue none */
  members?: readonly (string | Member<ProxyUpstream>)[]
}

/** The statuses that are faults of a proxy and not of the request: blocked, not authenticated, rate limited, wrong region. */
export const PROXY_FAULTS: readonly number[] = Object.freeze([403, 407, 429, 451])

/**
 * Creates a pool of proxies. It differs from `new Pool` in that members can be URLs and that 403, 407, 429 and 451 are faults
 * of the member: such a response fails over to another member, and counts as a failure only when the other responds differently.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options
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
