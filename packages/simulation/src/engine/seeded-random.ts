import type { Random } from 'holdfast'
import { seededRandom } from 'holdfast/testing'

/** Decisions that depend only on a seed. */
export class Choices {
  /** A number from 0 up to, but not including, 1. */
  readonly random: Random

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.random() * end)
  }

  /** A number from `low` up to, but not including, `high`. */
  between(low: number, high: number): number {
    return low + this.random() * (high - low)
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.random() < probability
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** A duration around `mean`, mostly shorter and rarely much longer, as delays of a network are. */
  delay(mean: number): number {
    return -Math.log(1 - this.random()) * mean
  }

  /** Independent decisions for one part, so that another decision of one part does not change those of the others. */
  fork(): Choices {
    return new Choices(Math.floor(this.random() * 2 ** 32))
  }
}
