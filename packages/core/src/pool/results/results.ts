import { type Growing, grown } from '../indexes/grown.js'
import { Blocks } from './blocks.js'
import { Slowest } from './slowest.js'

/** How many results a score looks back on. */
const LAST = 100

/** What the share of successes and the latency count for, and the score of a member that has no results. */
const SUCCESS = 0.7
const LATENCY = 0.3
const UNKNOWN = 0.5

/**
 * A row has all that is known of a slot, so that it is one look into memory: two numbers that its score is made of, what
 * its successes count for and its mean latency; the sum of its latencies; and, as whole numbers of half the size, a word
 * of small numbers, and where its results begin.
 */
const ROW = 4
const SHARE = 0
const MEAN = 1
const SUM = 2
const WORD = 6
const START = 7

/** How many bits of a word each of its numbers takes: the count of results, of successes, and where the next result goes. */
const BITS = 7
const ONE = (1 << BITS) - 1

/** The last hundred results of each slot, and the score they make. */
export class Results implements Growing {
  private rows = new Float64Array(0)
  private words = new Uint32Array(0)
  private readonly blocks = new Blocks()
  private readonly slowest = new Slowest((slot) => this.rows[ROW * slot + MEAN] as number)

  /** The highest mean latency of all, for {@link Results.score}; where none took any time, one that can be divided by. */
  get most(): number {
    return this.slowest.most || 1
  }

  /** A result that took `ms`. */
  add(slot: number, failed: boolean, ms: number): void {
    const { blocks, words, rows } = this
    const word = words[2 * ROW * slot + WORD] as number
    let start = words[2 * ROW * slot + START] as number
    const next = word >>> (2 * BITS)
    let count = word & ONE
    let successes = (word >>> BITS) & ONE
    let sum = rows[ROW * slot + SUM] as number
    if (count === LAST) {
      const oldest = blocks.numbers[start + next] as number
      if (oldest >= 0) successes--
      sum -= took(oldest)
    } else {
      start = blocks.extend(start, count++)
      words[2 * ROW * slot + START] = start
    }
    // A failure is written below 0, so that a result is one number.
    const result = Math.fround(failed ? -1 - ms : ms)
    if (!failed) successes++
    blocks.numbers[start + next] = result
    const last = next === LAST - 1
    // Once a round all is added anew, so that what rounding leaves behind does not add up.
    sum = last ? total(blocks.numbers, start) : sum + took(result)
    rows[ROW * slot + SUM] = sum
    words[2 * ROW * slot + WORD] = count | (successes << BITS) | ((last ? 0 : next + 1) << (2 * BITS))
    this.write(slot, (SUCCESS * successes) / count, Math.fround(sum / count))
  }

  /** From 0 to 1; the higher, the better. */
  score(slot: number, most: number): number {
    const { rows } = this
    return (rows[ROW * slot + SHARE] as number) + LATENCY * (1 - (rows[ROW * slot + MEAN] as number) / most)
  }

  forget(slot: number): void {
    const { words, blocks } = this
    blocks.free(words[2 * ROW * slot + START] as number, (words[2 * ROW * slot + WORD] as number) & ONE)
    this.write(slot, UNKNOWN - LATENCY, 0)
    this.rows.fill(0, ROW * slot + SUM, ROW * (slot + 1))
  }

  grow(capacity: number): void {
    const known = this.rows.length
    this.rows = grown(this.rows, ROW * capacity)
    this.words = new Uint32Array(this.rows.buffer)
    for (let at = known; at < this.rows.length; at += ROW) this.rows[at + SHARE] = UNKNOWN - LATENCY
    this.slowest.grow(capacity)
  }

  private write(slot: number, share: number, mean: number): void {
    const { rows } = this
    const before = rows[ROW * slot + MEAN] as number
    rows[ROW * slot + SHARE] = share
    rows[ROW * slot + MEAN] = mean
    if (mean !== before) this.slowest.changed(slot, before, mean)
  }
}

const took = (result: number): number => (result < 0 ? -1 - result : result)

function total(numbers: Float32Array, start: number): number {
  let sum = 0
  for (let at = start; at < start + LAST; at++) sum += took(numbers[at] as number)
  return sum
}
