import type { Clock } from 'holdfast'

/**
 * The wall time for deciding what is old: a clock that is set forward makes nothing old, since what is let go of never
 * comes back. It goes on from where the process began, so a step that is undone or is right in the end only delays.
 */
export class RetentionClock {
  private readonly clock: Clock
  private readonly startedAt: { readonly now: number; readonly wall: number }

  constructor(clock: Clock) {
    this.clock = clock
    this.startedAt = { now: clock.now(), wall: clock.wall() }
  }

  /** Epoch milliseconds, never ahead of the time that has passed. */
  wall(): number {
    const { clock, startedAt } = this
    return Math.min(clock.wall(), startedAt.wall + clock.now() - startedAt.now)
  }
}
