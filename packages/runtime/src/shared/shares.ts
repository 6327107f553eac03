import { memberId } from '../config/layer/members.js'
import type { BreakerEntry } from '../config/schema/schema.js'
import type { PoolEntry } from '../pools/pools.js'
import type { ShareOptions } from './settings.js'

/** How many calls give a node a vote where a breaker does not say. */
const MINIMUM_CALLS = 5

/** How a breaker of the file is shared. */
export function shareOf(entry: BreakerEntry | undefined): ShareOptions {
  const { share = 'quorum', quorum = 0.5, minimumCalls = MINIMUM_CALLS } = entry ?? {}
  return { share, quorum, minimumCalls }
}

interface PoolShares {
  readonly all: ShareOptions
  /** Those of members that say something else. */
  readonly own: ReadonlyMap<string, ShareOptions>
}

/** Made once for each pool of a configuration: a pool may have very many members. */
const known = new WeakMap<PoolEntry, PoolShares>()

/** How the breaker of a member is shared. */
export function memberShareOf(entry: PoolEntry, member: string): ShareOptions {
  const { all, own } = known.get(entry) ?? poolSharesOf(entry)
  return own.get(member) ?? all
}

function poolSharesOf(entry: PoolEntry): PoolShares {
  const { circuitBreaker, members = [] } = entry
  const own = new Map<string, ShareOptions>()
  for (const member of members)
    if (member.circuitBreaker)
      own.set(memberId(member), shareOf({ ...circuitBreaker, ...member.circuitBreaker }))
  const shares = { all: shareOf(circuitBreaker), own }
  known.set(entry, shares)
  return shares
}
