import type { Clock, Random } from 'holdfast'

/** A random text of `length` characters. */
export function randomString(random: Random, length: number): string {
  let text = ''
  while (text.length < length)
    text += Math.floor(random() * 36 ** 6)
      .toString(36)
      .padStart(6, '0')
  return text.slice(0, length)
}

/** Creates ids that sort in the order of creation, even if the clock is set back. */
export class SortedIds {
  private last = 0
  private count = 0
  private readonly prefix: string
  private readonly clock: Clock
  private readonly random: Random

  constructor(prefix: string, clock: Clock, random: Random) {
    this.prefix = prefix
    this.clock = clock
    this.random = random
  }

  /** Creates the next id. */
  next(): string {
    const now = Math.floor(this.clock.wall())
    if (now > this.last) {
      this.last = now
      this.count = 0
    }
    const sequence = (this.count++).toString(36).padStart(4, '0')
    return `${this.prefix}_${this.last}_${sequence}${randomString(this.random, 6)}`
  }
}
