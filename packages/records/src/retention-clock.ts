import type { Clock } from 'holdfast'

/**
 * The wall time for retention. A system clock that is set forward does not make records expire, because a deleted record cannot
 * be restored. The time never passes faster than since the start of the process, so a correct step only delays the deletion.
 */
export class RetentionClock {
  private readonly clock: Clock
  private readonly startedAt: { readonly now: number; readonly wall: number }

  constructor(clock: Clock) {
    this.clock = clock
    this.startedAt = { now: clock.now(), wall: clock.wall() }
  }

  /** Epoch milliseconds, at most the start time plus the elapsed time. */
  wall(): number {
    const { clock, startedAt } = this
    return Math.min(clock.wall(), startedAt.wall + clock.now() - startedAt.now)
  }
}
