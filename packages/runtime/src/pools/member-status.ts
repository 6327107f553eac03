import type { PoolMemberStatus } from '../api-types.js'

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
