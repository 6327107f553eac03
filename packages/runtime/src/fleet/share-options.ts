import { type BreakerEntry, CONFIG_DEFAULTS, memberId } from '@holdfast/config'
import type { ShareOptions } from '@holdfast/fleet'
import type { PoolEntry } from '../pools/pool-manager.js'

/** The options with which a breaker of the file is shared. */
export function toShareOptions(entry: BreakerEntry | undefined): ShareOptions {
  const defaults = CONFIG_DEFAULTS.share
  const {
    share = defaults.share,
    quorum = defaults.quorum,
    minimumCalls = defaults.minimumCalls,
  } = entry ?? {}
  return { share, quorum, minimumCalls }
}

interface PoolShareOptions {
  readonly defaults: ShareOptions
  /** The options of members that have their own. */
  readonly byMember: ReadonlyMap<string, ShareOptions>
}

/** Cached for each pool entry, because a pool may have very many members. */
const shareOptionsCache = new WeakMap<PoolEntry, PoolShareOptions>()

/** The options with which the breaker of a member is shared. */
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
