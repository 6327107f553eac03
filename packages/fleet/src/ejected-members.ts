import { DAY_MS } from '@holdfast/records'
import type { FleetBreaker } from './fleet-breaker.js'
import { EJECT, LIST_EJECTED, READMIT } from './lua/scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { parseScored } from './replies.js'

/** The set is kept as long as the state of a breaker. */
const STATE_TTL_MS = DAY_MS

/** The key of a pool's ejected members, from the id of a member's breaker (`pool:POOL:MEMBER`) or from `pool:POOL`. */
const ejectedKey = (id: string) => [`holdfast:{pool:${id.split(':')[1]}}:open`]

/**
 * The members of pools that the fleet has ejected. Breakers of members are created when they are first needed, so a node that
 * starts could not know which of thousands of members to read.
 */
export class EjectedMembers {
  private pools: readonly string[] = []
  private readonly redis: RedisConnection
  /** Attaches the breaker with this id; resolves when it has the state of the fleet. */
  private readonly shareBreaker: (id: string) => Promise<FleetBreaker | undefined>
  /** Reads the state of the fleet; resolves with whether this node knows it then. */
  private readonly sync: (breakerLink: FleetBreaker) => Promise<boolean>
  private readonly onInvalidReply: (problem: string) => void

  constructor(
    redis: RedisConnection,
    share: (id: string) => Promise<FleetBreaker | undefined>,
    sync: (breakerLink: FleetBreaker) => Promise<boolean>,
    onInvalidReply: (problem: string) => void,
  ) {
    this.redis = redis
    this.shareBreaker = share
    this.sync = sync
    this.onInvalidReply = onInvalidReply
  }

  /** Sets the pools whose ejected members are read. */
  async setPools(pools: readonly string[]): Promise<void> {
    this.pools = pools
    await this.refresh()
  }

  /** Reads the ejected members and applies the state of their breakers. */
  async refresh(): Promise<void> {
    await Promise.all(this.pools.map((pool) => this.readPool(pool)))
  }

  /** Stores whether the member of this breaker is ejected. */
  recordState({ breaker, epoch, isFleetOpen }: FleetBreaker): void {
    const { id, isDisabled, openUntil, settings } = breaker
    if (!id.startsWith('pool:')) return
    const ttlMs = STATE_TTL_MS + Math.max(0, Math.ceil(openUntil - settings.clock.now()))
    const args = [id, epoch, ttlMs]
    this.redis.run(isFleetOpen || isDisabled ? EJECT : READMIT, ejectedKey(id), args).catch(() => {})
  }

  private async readPool(pool: string): Promise<void> {
    const key = ejectedKey(`pool:${encodeURIComponent(pool)}`)
    try {
      const parsed = parseScored(await this.redis.run(LIST_EJECTED, key, []))
      if ('problem' in parsed) {
        this.onInvalidReply(parsed.problem)
        return
      }
      await Promise.all(
        parsed.value.map(async ([id, epoch]) => {
          // The node that closed the breaker could not remove the member.
          if (await this.isReadmitted(id, Number(epoch))) await this.redis.run(READMIT, key, [id, epoch])
        }),
      )
    } catch {
      // Redis is not available, which the connection reports.
    }
  }

  /** Whether the fleet has closed the breaker of a member that is listed as ejected in this epoch. */
  private async isReadmitted(id: string, epoch: number): Promise<boolean> {
    const breakerLink = await this.shareBreaker(id)
    if (breakerLink === undefined) return false
    // A breaker that was attached before can be closed because this node has not received the opening yet. If the member were
    // removed from the list then, nodes that start later would not know that it is ejected.
    const isKnown = breakerLink.epoch >= epoch || (await this.sync(breakerLink))
    return isKnown && !breakerLink.isFleetOpen && !breakerLink.breaker.isDisabled
  }
}
