import { type BreakerEntry, memberId } from '@holdfast/config'
import type { ShareOptions } from '@holdfast/fleet'
import type { PoolEntry } from '../pools/pool-manager.js'

/** How many calls give a node a vote where a breaker does not say. */
const MINIMUM_CALLS = 5

/** How a breaker of the file is shared. */
export function toShareOptions(entry: BreakerEntry | undefined): ShareOptions {
  const { share = 'quorum', quorum = 0.5, minimumCalls = MINIMUM_CALLS } = entry ?? {}
  return { share, quorum, minimumCalls }
}

interface PoolShareOptions {
  readonly defaults: ShareOptions
  /** Those of members that say something else. */
  readonly byMember: ReadonlyMap<string, ShareOptions>
}

/** Made once for each pool of a configuration: a pool may have very many members. */
const shareOptionsCache = new WeakMap<PoolEntry, PoolShareOptions>()

/** How the breaker of a member is shared. */
export function memberShareOptions(entry: PoolEntry, member: string): ShareOptions {
  const { defaults, byMember } = shareOptionsCache.get(entry) ?? poolShareOptions(entry)
  return byMember.get(member) ?? defaults
}

function poolShareOptions(entry: PoolEntry): PoolShareOptions {
  const { circuitBreaker, members = [] } = entry
  const byMember = new Map<string, ShareOptions>()
  for (const member of members)
    if (member.circuitBreaker)
      byMember.set(memberId(member), toShareOptions({ ...circuitBreaker, ...member.circuitBreaker }))
  const shares = { defaults: toShareOptions(circuitBreaker), byMember }
  shareOptionsCache.set(entry, shares)
  return shares
}
