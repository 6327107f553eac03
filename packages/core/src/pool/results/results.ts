import { type Growing, grown } from '../indexes/grown.js'
import { Rings } from './rings.js'
import { Slowest } from './slowest.js'

/** How many results a score looks back on. */
const LAST = 100

/** What the share of successes and the latency count for, and the score of a member that has no results. */
const SUCCESS = 0.7
const LATENCY = 0.3
const UNKNOWN = 0.5

/** How many bits of a word each of its numbers takes: the count of results, of successes, and where the next result goes. */
const BITS = 7
const ONE = (1 << BITS) - 1

/** The last hundred results of each slot, and the score they make. */
export class Results implements Growing {
  /** What a score is made of, close together, two for each slot: the mean latency, and a word of small numbers. */
  private means = new Float32Array(0)
  private words = new Uint32Array(0)
  private times = new Float64Array(0)
  private readonly rings = new Rings(LAST)
  private readonly slowest = new Slowest((slot) => this.means[2 * slot] as number)

  /** The highest mean latency of all. */
  get most(): number {
    return this.slowest.most
  }

  /** A result that took `ms`. */
  add(slot: number, failed: boolean, ms: number): void {
    const { rings, words, times } = this
    const word = words[2 * slot + 1] as number
    const next = word >>> (2 * BITS)
    let count = word & ONE
    let successes = (word >>> BITS) & ONE
    let time = times[slot] as number
    if (count === LAST) {
      const oldest = rings.get(slot, next)
      if (oldest >= 0) successes--
      time -= took(oldest)
    } else count++
    // A failure is written below 0, so that a result is one number.
    const result = Math.fround(failed ? -1 - ms : ms)
    if (!failed) successes++
    rings.set(slot, next, result)
    // Once a round all is added anew, so that what rounding leaves behind does not add up.
    times[slot] = next === LAST - 1 ? this.sum(slot) : time + took(result)
    words[2 * slot + 1] = count | (successes << BITS) | (((next + 1) % LAST) << (2 * BITS))
    this.write(slot, (times[slot] as number) / count)
  }

  /** From 0 to 1; the higher, the better. `most` is the highest mean latency of all. */
  score(slot: number, most: number): number {
    const word = this.words[2 * slot + 1] as number
    const count = word & ONE
    if (count === 0) return UNKNOWN
    const slowness = most === 0 ? 0 : (this.means[2 * slot] as number) / most
    return (SUCCESS * ((word >>> BITS) & ONE)) / count + LATENCY * (1 - slowness)
  }

  forget(slot: number): void {
    this.rings.free(slot)
    this.times[slot] = 0
    this.words[2 * slot + 1] = 0
    this.write(slot, 0)
  }

  grow(capacity: number): void {
    this.rings.grow(capacity)
    this.times = grown(this.times, capacity)
    this.means = grown(this.means, 2 * capacity)
    this.words = new Uint32Array(this.means.buffer)
    this.slowest.grow(capacity)
  }

  private write(slot: number, mean: number): void {
    const before = this.means[2 * slot] as number
    this.means[2 * slot] = mean
    this.slowest.changed(slot, before, this.means[2 * slot] as number)
  }

  private sum(slot: number): number {
    let sum = 0
    for (let i = 0; i < LAST; i++) sum += took(this.rings.get(slot, i))
    return sum
  }
}

const took = (result: number): number => (result < 0 ? -1 - result : result)
