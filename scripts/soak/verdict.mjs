// Whether curves are flat. Pure: points in, rows and problems out.

/** @typedef {import('./samples.mjs').Point} Point @typedef {import('./samples.mjs').Curves} Curves */

const MB = 1_000_000

/**
 * How much a measure may grow from the end of the warm-up to the end of the run. The growth is the slope of the curve times its
 * duration, so a single outlier does not count. RSS is noisy: the allocator returns pages late.
 */
export const GROWTH_LIMITS = {
  heap: 4 * MB,
  external: 4 * MB,
  rss: 32 * MB,
  descriptors: 8,
  sockets: 8,
  store: 32 * MB,
}

/**
 * The p99 of the event-loop delay in the last third may be this much above that of the first third: 1.5 times, and 10 ms. If the
 * process waited longer for a processor, or the delay of the reference process grew, other programs used the machine more, and
 * the first third is scaled by that.
 */
const DELAY_LIMIT = { factor: 1.5, extraMs: 10 }

/**
 * A minute is not judged if half of the processes waited for a processor for more than this part of it: other programs have the
 * machine, so calls accumulate. At least half of the minutes must be judged.
 */
const STARVED = { wait: 0.75, maxShare: 0.5 }

/** Fewer points say nothing about a curve. */
const MIN_POINTS = 6

/** @param {readonly number[]} values */
export function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return Number.NaN
  const upper = /** @type {number} */ (sorted[middle])
  return sorted.length % 2 === 1 ? upper : (upper + /** @type {number} */ (sorted[middle - 1])) / 2
}

/** The median of the slopes between all pairs of points (Theil–Sen), per minute. @param {readonly Point[]} points */
export function slopeOf(points) {
  /** @type {number[]} */
  const slopes = []
  points.forEach((a, i) => {
    for (const b of points.slice(i + 1))
      if (b.minute !== a.minute) slopes.push((b.value - a.value) / (b.minute - a.minute))
  })
  return medianOf(slopes)
}

/** At most so many points, each the median of its neighbours: pairs of points grow with the square of their number. */
const MAX_POINTS = 120

/** @param {readonly Point[]} points @returns {readonly Point[]} */
export function condense(points) {
  const size = Math.ceil(points.length / MAX_POINTS)
  if (size <= 1) return points
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) => {
    const group = points.slice(i * size, (i + 1) * size)
    return {
      minute: medianOf(group.map(({ minute }) => minute)),
      value: medianOf(group.map(({ value }) => value)),
    }
  })
}

/** The medians of the first and of the last third. @param {readonly Point[]} points */
function thirdsOf(points) {
  const first = points[0]?.minute ?? 0
  const third = ((points.at(-1)?.minute ?? 0) - first) / 3
  const values = (/** @type {(minute: number) => boolean} */ isInside) =>
    medianOf(points.filter(({ minute }) => isInside(minute - first)).map(({ value }) => value))
  return { first: values((minute) => minute <= third), last: values((minute) => minute >= 2 * third) }
}

/**
 * @typedef {object} Row
 * @property {string} process
 * @property {string} measure
 * @property {number} first the median of the first third after the warm-up
 * @property {number} last the median of the last third
 * @property {number} growth
 * @property {number} limit of the growth
 * @property {boolean} isFlat
 */

/** @param {string} process @param {keyof typeof GROWTH_LIMITS} measure @param {readonly Point[]} points @returns {Row} */
function judgeGrowth(process, measure, points) {
  const span = (points.at(-1)?.minute ?? 0) - (points[0]?.minute ?? 0)
  const growth = slopeOf(condense(points)) * span
  const limit = GROWTH_LIMITS[measure]
  return { process, measure, ...thirdsOf(points), growth, limit, isFlat: growth <= limit }
}

/** By what factor a curve is higher in its last third than in its first; at least 1. @param {readonly Point[]} points @param {number} smallest value that is measured precisely enough */
function increaseOf(points, smallest) {
  const { first, last } = thirdsOf(points)
  return Math.max(1, last / Math.max(first, smallest) || 1)
}

/** @param {string} process @param {{ delays: readonly Point[], waits: readonly Point[], reference: readonly Point[] }} curves @returns {Row} */
function judgeDelay(process, { delays, waits, reference }) {
  const { first, last } = thirdsOf(delays)
  const foreignLoad = Math.max(increaseOf(reference, 0.1), increaseOf(waits, 0.01))
  const limit = first * foreignLoad * DELAY_LIMIT.factor + DELAY_LIMIT.extraMs - first
  const growth = last - first
  return { process, measure: 'delayP99', first, last, growth, limit, isFlat: growth <= limit }
}

/** The minutes in which the processes hardly had a processor. @param {Curves} curves @param {readonly string[]} processes */
function starvedMinutesOf(curves, processes) {
  /** @type {Map<number, number[]>} */
  const waits = new Map()
  for (const process of processes) {
    /** @type {Map<number, number[]>} */
    const own = new Map()
    for (const { minute, value } of curves[process]?.['wait'] ?? [])
      own.set(Math.floor(minute), [...(own.get(Math.floor(minute)) ?? []), value])
    for (const [minute, values] of own) waits.set(minute, [...(waits.get(minute) ?? []), medianOf(values)])
  }
  return new Set([...waits].filter(([, values]) => medianOf(values) > STARVED.wait).map(([minute]) => minute))
}

/**
 * Judges the curves of processes.
 *
 * @param {Curves} curves
 * @param {{ processes: readonly string[], reference: string, warmUpMinutes: number }} options
 * @returns {{ rows: Row[], problems: string[], starvedMinutes: number[] }}
 */
export function judge(curves, { processes, reference, warmUpMinutes }) {
  /** @type {Row[]} */
  const rows = []
  /** @type {string[]} */
  const problems = []
  const starved = starvedMinutesOf(curves, processes)
  const isJudged = (/** @type {number} */ minute) =>
    minute >= warmUpMinutes && !starved.has(Math.floor(minute))
  const measured = (/** @type {string} */ process, /** @type {string} */ measure) =>
    (curves[process]?.[measure] ?? []).filter(({ minute }) => isJudged(minute))
  const starvedMinutes = [...starved].filter((minute) => minute >= warmUpMinutes)
  const lastMinute = Math.max(...processes.map((process) => curves[process]?.['wait']?.at(-1)?.minute ?? 0))
  if (starvedMinutes.length > Math.max(0, lastMinute - warmUpMinutes) * STARVED.maxShare)
    problems.push(
      `other programs used the machine in ${starvedMinutes.length} of ${Math.round(lastMinute - warmUpMinutes)} minutes, so the run has no result`,
    )
  for (const process of processes) {
    for (const measure of /** @type {(keyof typeof GROWTH_LIMITS)[]} */ (Object.keys(GROWTH_LIMITS))) {
      if (curves[process]?.[measure] === undefined) continue
      const points = measured(process, measure)
      if (points.length < MIN_POINTS)
        problems.push(`${process}: ${points.length} samples of ${measure}, expected ${MIN_POINTS} or more`)
      else rows.push(judgeGrowth(process, measure, points))
    }
    const delays = measured(process, 'delayP99')
    if (delays.length >= MIN_POINTS)
      rows.push(
        judgeDelay(process, {
          delays,
          waits: measured(process, 'wait'),
          reference: measured(reference, 'delayP99'),
        }),
      )
    if (!rows.some((row) => row.process === process)) problems.push(`${process}: no samples`)
  }
  for (const { process, measure, growth, limit, isFlat } of rows)
    if (!isFlat)
      problems.push(
        `${process}: ${measure} grew by ${formatMeasure(measure, growth)}, limit ${formatMeasure(measure, limit)}`,
      )
  return { rows, problems, starvedMinutes }
}

/** @param {string} measure @param {number} value */
export function formatMeasure(measure, value) {
  if (measure.startsWith('delay')) return `${value.toFixed(1)} ms`
  if (measure === 'wait') return `${(value * 100).toFixed(0)} %`
  if (measure === 'descriptors' || measure === 'sockets') return value.toFixed(0)
  return `${(value / MB).toFixed(1)} MB`
}
