import type { FleetBreaker } from './fleet-breaker.js'
import { EJECT, LIST_EJECTED, READMIT } from './fleet-scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { parseScored } from './replies.js'

/** As long as the state of a breaker is kept. */
const STATE_TTL_MS = 86_400_000

/** Where a pool's members that are not closed are listed, by the id of a member's breaker or with the pool's own name. */
const ejectedKey = (id: string) => [`holdfast:{pool:${id.split(':')[1]}}:open`]

/**
 * The members of pools that the fleet has set aside. Breakers of members are made when they are first needed, so a node that
 * starts could not know which of thousands to ask for.
 */
export class EjectedMembers {
  private pools: readonly string[] = []
  private readonly redis: RedisConnection
  /** Shares the breaker of that id; resolves with how it is shared when it stands where the fleet's does. */
  private readonly shareBreaker: (id: string) => Promise<FleetBreaker | undefined>

  private readonly onInvalidReply: (problem: string) => void

  constructor(
    redis: RedisConnection,
    share: (id: string) => Promise<FleetBreaker | undefined>,
    onInvalidReply: (problem: string) => void,
  ) {
    this.redis = redis
    this.shareBreaker = share
    this.onInvalidReply = onInvalidReply
  }

  /** Looks after the members of these pools, and of no others. */
  async setPools(pools: readonly string[]): Promise<void> {
    this.pools = pools
    await this.refresh()
  }

  /** Learns who is set aside, and takes that over. */
  async refresh(): Promise<void> {
    await Promise.all(this.pools.map((pool) => this.readPool(pool)))
  }

  /** Notes where a breaker stands. */
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
          const breakerLink = await this.shareBreaker(id)
          // Whoever closed it did not come to say so.
          if (
            breakerLink !== undefined &&
            this.redis.isUp &&
            !breakerLink.isFleetOpen &&
            !breakerLink.breaker.isDisabled
          )
            await this.redis.run(READMIT, key, [id, epoch])
        }),
      )
    } catch {
      // Redis is lost, which is told elsewhere.
    }
  }
}
