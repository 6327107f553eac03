import { type Growing, grown } from '../indexes/grown.js'
import { Least, type Seconds } from '../indexes/least.js'
import { Rings } from './rings.js'

/** How many results a score looks back on. */
const LAST = 100

/** What the share of successes and the latency count for, and the score of a member that has no results. */
const SUCCESS = 0.7
const LATENCY = 0.3
const UNKNOWN = 0.5

/** The last hundred results of each slot, and the score they make. */
export class Results implements Growing {
  /** How many there are, how many of them are successes, and where the next one goes: three numbers for each slot. */
  private counts = new Uint8Array(0)
  private times = new Float64Array(0)
  private readonly rings = new Rings(LAST)
  /** What a score is made of, close together: the share of successes, -1 before the first, and the mean latency. */
  private parts = new Float64Array(0)
  /** The mean latencies once more, below 0: the least is the highest. */
  private readonly means: Least

  constructor(seconds: Seconds) {
    this.means = new Least(seconds)
  }

  /** The highest mean latency of all. */
  get slowest(): number {
    const { first } = this.means
    return first < 0 ? 0 : -this.means.get(first)
  }

  /** A result that took `ms`. */
  add(slot: number, failed: boolean, ms: number): void {
    const { rings, counts } = this
    const row = 3 * slot
    const next = counts[row + 2] as number
    if (counts[row] === LAST) this.sum(slot, rings.get(slot, next), -1)
    else (counts[row] as number)++
    // A failure is written below 0, so that a result is one number.
    rings.set(slot, next, failed ? -1 - ms : ms)
    this.sum(slot, rings.get(slot, next), 1)
    counts[row + 2] = (next + 1) % LAST
    if (next === LAST - 1) this.sumAll(slot)
    this.tell(slot, counts[row] as number, counts[row + 1] as number)
  }

  /** From 0 to 1; the higher, the better. `slowest` is the highest mean latency of all. */
  score(slot: number, slowest: number): number {
    const rate = this.parts[2 * slot] as number
    if (rate < 0) return UNKNOWN
    const slowness = slowest === 0 ? 0 : (this.parts[2 * slot + 1] as number) / slowest
    return SUCCESS * rate + LATENCY * (1 - slowness)
  }

  forget(slot: number): void {
    this.rings.free(slot)
    this.counts.fill(0, 3 * slot, 3 * slot + 3)
    this.times[slot] = 0
    this.parts[2 * slot] = -1
    this.means.set(slot, Infinity)
  }

  grow(capacity: number): void {
    this.rings.grow(capacity)
    this.counts = grown(this.counts, 3 * capacity)
    this.times = grown(this.times, capacity)
    this.parts = grown(this.parts, 2 * capacity, -1)
    this.means.grow(capacity)
  }

  private tell(slot: number, count: number, successes: number): void {
    const mean = (this.times[slot] as number) / count
    this.parts[2 * slot] = successes / count
    this.parts[2 * slot + 1] = mean
    this.means.set(slot, -mean)
  }

  /** A result comes in, or goes. */
  private sum(slot: number, result: number, times: 1 | -1): void {
    if (result >= 0) (this.counts[3 * slot + 1] as number) += times
    ;(this.times[slot] as number) += times * took(result)
  }

  /** Adds all latencies anew: once a round, so that what rounding leaves behind does not add up. */
  private sumAll(slot: number): void {
    let sum = 0
    for (let i = 0; i < LAST; i++) sum += took(this.rings.get(slot, i))
    this.times[slot] = sum
  }
}

const took = (result: number): number => (result < 0 ? -1 - result : result)
