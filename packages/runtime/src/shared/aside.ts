import { ASIDE, BACK, WHO_IS_ASIDE } from './fleet-scripts.js'
import type { SharedBreaker } from './link.js'
import { parseScored } from './replies.js'
import type { Wire } from './wire.js'

/** As long as the state of a breaker is kept. */
const KEPT = 86_400_000

/** Where a pool's members that are not closed are listed, by the id of a member's breaker or with the pool's own name. */
const keyOf = (id: string) => [`holdfast:{pool:${id.split(':')[1]}}:open`]

/**
 * The members of pools that the fleet has set aside. Breakers of members are made when they are first needed, so a node that
 * starts could not know which of thousands to ask for.
 */
export class Aside {
  private pools: readonly string[] = []
  private readonly wire: Wire
  /** Shares the breaker of that id; resolves with how it is shared when it stands where the fleet's does. */
  private readonly share: (id: string) => Promise<SharedBreaker | undefined>

  private readonly onInvalidReply: (problem: string) => void

  constructor(
    wire: Wire,
    share: (id: string) => Promise<SharedBreaker | undefined>,
    onInvalidReply: (problem: string) => void,
  ) {
    this.wire = wire
    this.share = share
    this.onInvalidReply = onInvalidReply
  }

  /** Looks after the members of these pools, and of no others. */
  async keep(pools: readonly string[]): Promise<void> {
    this.pools = pools
    await this.learn()
  }

  /** Learns who is set aside, and takes that over. */
  async learn(): Promise<void> {
    await Promise.all(this.pools.map((pool) => this.read(pool)))
  }

  /** Notes where a breaker stands. */
  note({ breaker, epoch, fleetOpen }: SharedBreaker): void {
    const { id, isDisabled, openUntil, settings } = breaker
    if (!id.startsWith('pool:')) return
    const kept = KEPT + Math.max(0, Math.ceil(openUntil - settings.clock.now()))
    const args = [id, epoch, kept]
    this.wire.run(fleetOpen || isDisabled ? ASIDE : BACK, keyOf(id), args).catch(() => {})
  }

  private async read(pool: string): Promise<void> {
    const key = keyOf(`pool:${encodeURIComponent(pool)}`)
    try {
      const parsed = parseScored(await this.wire.run(WHO_IS_ASIDE, key, []))
      if ('problem' in parsed) {
        this.onInvalidReply(parsed.problem)
        return
      }
      await Promise.all(
        parsed.value.map(async ([id, epoch]) => {
          const link = await this.share(id)
          // Whoever closed it did not come to say so.
          if (link !== undefined && this.wire.up && !link.fleetOpen && !link.breaker.isDisabled)
            await this.wire.run(BACK, key, [id, epoch])
        }),
      )
    } catch {
      // Redis is lost, which is told elsewhere.
    }
  }
}
