import type { Choices } from '../engine/seeded-random.js'

const START_MS = Date.UTC(2026, 0, 10, 12)
const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** The wall time of a history. It advances by minutes, sometimes by days, and is sometimes set back. */
export class HistoryClock {
  private time = START_MS
  private readonly choices: Choices

  constructor(choices: Choices) {
    this.choices = choices
  }

  get now(): number {
    return this.time
  }

  advance(): void {
    const { choices } = this
    if (choices.chance(0.02)) this.time -= choices.below(choices.pick([MINUTE_MS, DAY_MS]))
    else if (choices.chance(0.06)) this.time += DAY_MS + choices.below(DAY_MS)
    else if (choices.chance(0.7)) this.time += choices.below(20 * MINUTE_MS)
  }
}
