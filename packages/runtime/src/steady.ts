import type { Clock } from 'holdfast'

/**
 * The wall time for deciding what is old: a clock that is set forward makes nothing old, since what is let go of never
 * comes back. It goes on from where the process began, so a step that is undone or is right in the end only delays.
 */
export class SteadyTime {
  private readonly clock: Clock
  private readonly began: { readonly now: number; readonly wall: number }

  constructor(clock: Clock) {
    this.clock = clock
    this.began = { now: clock.now(), wall: clock.wall() }
  }

  /** Epoch milliseconds, never ahead of the time that has passed. */
  wall(): number {
    const { clock, began } = this
    return Math.min(clock.wall(), began.wall + clock.now() - began.now)
  }
}
