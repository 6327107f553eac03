import { nextMacrotask } from 'holdfast/internal'
import type { PoolMemberStatus, PoolService } from '../api-types.js'

/** A status that is missing here does not compile. */
const STATUSES: Readonly<Record<PoolMemberStatus, true>> = {
  available: true,
  open: true,
  half_open: true,
  resting: true,
  drained: true,
  disabled: true,
}

/** Every status of a pool member. */
export const MEMBER_STATUSES = Object.keys(STATUSES) as [PoolMemberStatus, ...PoolMemberStatus[]]

/** The members of a pool by their status. */
export interface MemberCounts {
  readonly size: number
  /** Only statuses that a member has. */
  readonly byStatus: Partial<Record<PoolMemberStatus, number>>
}

/**
 * Counts the members of a pool; undefined for a pool that no longer exists. The event loop gets a turn before, because there can
 * be many pools.
 */
export async function countMembers(
  pools: Pick<PoolService, 'list' | 'memberStatus'>,
  id: string,
): Promise<MemberCounts | undefined> {
  await nextMacrotask()
  const pool = (await pools.list()).find((listed) => listed.id === id)
  if (pool === undefined) return undefined
  const byStatus: Partial<Record<PoolMemberStatus, number>> = {}
  for (const member of pool.members()) {
    const status = pools.memberStatus(id, member.id)
    byStatus[status] = (byStatus[status] ?? 0) + 1
  }
  return { size: pool.size, byStatus }
}
