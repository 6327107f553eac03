import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import { BlockAllocator } from './block-allocator.js'
import { MaxLatencyIndex } from './max-latency-index.js'

/** The number of recent results that a score is calculated from. */
const MAX_RESULTS = 100

/** The weights of the success rate and of the latency, and the score of a member without results. */
const SUCCESS_WEIGHT = 0.7
const LATENCY_WEIGHT = 0.3
const UNKNOWN_SCORE = 0.5

/**
 * A row holds everything about a slot, so that a score reads one cache line: the weighted success rate, the mean latency and
 * the sum of the latencies as doubles, then two 32-bit integers: the packed counts and the start of the results.
 */
const SCORE_ROW_LENGTH = 4
const SUCCESS_SHARE = 0
const MEAN_LATENCY = 1
const TOTAL_LATENCY = 2
const PACKED_COUNTS = 6
const BLOCK_START = 7

/** The bits of each packed count: the number of results, the number of successes, and the index of the next result. */
const COUNT_BITS = 7
const COUNT_MASK = (1 << COUNT_BITS) - 1

/** The last 100 results of each slot, and the score calculated from them. */
export class ScoreWindow implements SlotIndexed {
  private rows = new Float64Array(0)
  private words = new Uint32Array(0)
  private readonly blocks = new BlockAllocator()
  private readonly slowest = new MaxLatencyIndex(
    (slot) => this.rows[SCORE_ROW_LENGTH * slot + MEAN_LATENCY] as number,
  )

  /** The highest mean latency of all slots, as divisor for {@link ScoreWindow.score}; 1 instead of 0. */
  get maxLatency(): number {
    return this.slowest.max || 1
  }

  /** Adds a result that took `ms`. */
  add(slot: number, isFailure: boolean, ms: number): void {
    const { blocks, words, rows } = this
    const word = words[2 * SCORE_ROW_LENGTH * slot + PACKED_COUNTS] as number
    let start = words[2 * SCORE_ROW_LENGTH * slot + BLOCK_START] as number
    const next = word >>> (2 * COUNT_BITS)
    let count = word & COUNT_MASK
    let successes = (word >>> COUNT_BITS) & COUNT_MASK
    let sum = rows[SCORE_ROW_LENGTH * slot + TOTAL_LATENCY] as number
    if (count === MAX_RESULTS) {
      const oldest = blocks.numbers[start + next] as number
      if (oldest >= 0) successes--
      sum -= latencyOf(oldest)
    } else {
      start = blocks.extend(start, count++)
      words[2 * SCORE_ROW_LENGTH * slot + BLOCK_START] = start
    }
    // A failure is stored as a negative number, so that a result takes one number.
    const result = Math.fround(isFailure ? -1 - ms : ms)
    if (!isFailure) successes++
    blocks.numbers[start + next] = result
    const isLast = next === MAX_RESULTS - 1
    // The sum is recalculated once per 100 results, so that rounding errors do not accumulate.
    sum = isLast ? sumLatencies(blocks.numbers, start) : sum + latencyOf(result)
    rows[SCORE_ROW_LENGTH * slot + TOTAL_LATENCY] = sum
    words[2 * SCORE_ROW_LENGTH * slot + PACKED_COUNTS] =
      count | (successes << COUNT_BITS) | ((isLast ? 0 : next + 1) << (2 * COUNT_BITS))
    this.writeRow(slot, (SUCCESS_WEIGHT * successes) / count, Math.fround(sum / count))
  }

  /** The score of a slot, from 0 to 1; higher is better. */
  score(slot: number, maxLatency: number): number {
    const { rows } = this
    return (
      (rows[SCORE_ROW_LENGTH * slot + SUCCESS_SHARE] as number) +
      LATENCY_WEIGHT * (1 - (rows[SCORE_ROW_LENGTH * slot + MEAN_LATENCY] as number) / maxLatency)
    )
  }

  clear(slot: number): void {
    const { words, blocks } = this
    blocks.free(
      words[2 * SCORE_ROW_LENGTH * slot + BLOCK_START] as number,
      (words[2 * SCORE_ROW_LENGTH * slot + PACKED_COUNTS] as number) & COUNT_MASK,
    )
    this.writeRow(slot, UNKNOWN_SCORE - LATENCY_WEIGHT, 0)
    this.rows.fill(0, SCORE_ROW_LENGTH * slot + TOTAL_LATENCY, SCORE_ROW_LENGTH * (slot + 1))
  }

  grow(capacity: number): void {
    const oldLength = this.rows.length
    this.rows = growArray(this.rows, SCORE_ROW_LENGTH * capacity)
    this.words = new Uint32Array(this.rows.buffer)
    for (let at = oldLength; at < this.rows.length; at += SCORE_ROW_LENGTH)
      this.rows[at + SUCCESS_SHARE] = UNKNOWN_SCORE - LATENCY_WEIGHT
    this.slowest.grow(capacity)
  }

  private writeRow(slot: number, share: number, mean: number): void {
    const { rows } = this
    const before = rows[SCORE_ROW_LENGTH * slot + MEAN_LATENCY] as number
    rows[SCORE_ROW_LENGTH * slot + SUCCESS_SHARE] = share
    rows[SCORE_ROW_LENGTH * slot + MEAN_LATENCY] = mean
    if (mean !== before) this.slowest.onChanged(slot, before, mean)
  }
}

const latencyOf = (result: number): number => (result < 0 ? -1 - result : result)

function sumLatencies(numbers: Float32Array, start: number): number {
  let sum = 0
  for (let at = start; at < start + MAX_RESULTS; at++) sum += latencyOf(numbers[at] as number)
  return sum
}
