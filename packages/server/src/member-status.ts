import type { HoldfastLike } from './runtime-api.js'

type MemberStatus = ReturnType<HoldfastLike['pools']['memberStatus']>

/** A status that is missing here does not compile. */
const STATUSES: Readonly<Record<MemberStatus, true>> = {
  available: true,
  open: true,
  half_open: true,
  resting: true,
  drained: true,
  disabled: true,
}

/** Every status of a pool member. */
export const MEMBER_STATUSES = Object.keys(STATUSES) as [MemberStatus, ...MemberStatus[]]
