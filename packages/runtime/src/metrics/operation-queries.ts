import { checkOptions, type MetricsByOperation, MINUTE_MS, type OptionCheck } from '@holdfast/records'
import { createOptionsError, createProblem, nextMacrotask } from 'holdfast/internal'
import { OTHER_LABEL } from './labelled-values.js'
import { histogramQuantiles } from './latency-log.js'
import { checkWindow } from './queries.js'
import {
  MAX_OPERATIONS,
  OPERATION_FIELDS,
  parseOperationBreaker,
  type SeriesRegistry,
} from './series-registry.js'

/** The most points of a result: about 20 MB of JSON. */
const MAX_POINTS = 100_000

/** How many operations are counted, and how many points are created, before the event loop gets a turn. */
const COUNTS_PER_TURN = 50
const POINTS_PER_TURN = 100

const FIELDS = Object.keys(OPERATION_FIELDS).length

/** A query of the metrics of operations. */
export interface OperationsQuery {
  from: Date
  to: Date
  /** Milliseconds between two points, a multiple of a minute. @defaultValue a minute */
  step?: number | undefined
  /** Only this operation. */
  operation?: string | undefined
}

const QUERY_CHECKS = {
  step: [
    'a multiple of 60000 ms',
    (value) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) % MINUTE_MS === 0,
  ],
  operation: ['the name of an operation', (value) => typeof value === 'string' && value !== ''],
} satisfies Record<string, OptionCheck>

/** Checks a query and fills in its defaults. @throws INVALID_OPTIONS */
export function checkOperationsQuery(query: OperationsQuery): OperationsQuery & { step: number } {
  const { from, to, ...rest } = query ?? {}
  checkOptions('operations cannot be queried', rest, {}, QUERY_CHECKS)
  return { ...checkWindow({ from, to }), step: rest.step ?? MINUTE_MS, operation: rest.operation }
}

/** The counts of operations in a window or in one of its steps. */
class CallSums {
  readonly counts = new Float64Array(FIELDS)
  /** The weight of each latency bucket that is not empty: a step has few of them. */
  readonly latencies = new Map<number, number>()

  addLatency(bucket: number, weight: number): void {
    this.latencies.set(bucket, (this.latencies.get(bucket) ?? 0) + weight)
  }

  toRecord() {
    const [calls = 0, successes = 0, retries = 0, rejections = 0] = this.counts
    const latency = histogramQuantiles(this.latencies)
    return { calls, successes, failures: calls - successes, retries, rejections, latency }
  }
}

/** The counts of operations in a window, in total and by the start of each step. */
class WindowSums {
  readonly total = new CallSums()
  readonly steps = new Map<number, CallSums>()
  private readonly step: number

  constructor(step: number) {
    this.step = step
  }

  stepAt(time: number): CallSums {
    const start = Math.floor(time / this.step) * this.step
    let sums = this.steps.get(start)
    if (sums === undefined) this.steps.set(start, (sums = new CallSums()))
    return sums
  }

  async toRecord() {
    const dataPoints: MetricsByOperation['total']['dataPoints'] = []
    for (const [start, sums] of [...this.steps].toSorted(([a], [b]) => a - b)) {
      dataPoints.push({ timestamp: new Date(start), ...sums.toRecord() })
      if (dataPoints.length % POINTS_PER_TURN === 0) await nextMacrotask()
    }
    return { ...this.total.toRecord(), dataPoints }
  }
}

/**
 * The calls of operations. The minutes that start in the window are counted, and the minute in which it starts. The event loop gets
 * turns in between, because many operations take long.
 */
export async function queryOperations(
  registries: readonly SeriesRegistry[],
  { from, to, step, operation }: OperationsQuery & { step: number },
): Promise<MetricsByOperation> {
  const [start, end] = [Math.floor(from.getTime() / MINUTE_MS) * MINUTE_MS, to.getTime()]
  const breakers = breakersByOperation(registries, start, end)
  const operations: MetricsByOperation['operations'] = []
  const total = new WindowSums(step)
  let points = 0
  for (const [label, names] of await namesByLabel(registries, start, end, operation)) {
    const sums = new WindowSums(step)
    for (const name of names) {
      addOperation(registries, name, start, end, [sums, total])
      await nextMacrotask()
    }
    points += sums.steps.size
    if (points > MAX_POINTS)
      throw createOptionsError('operations cannot be queried', [
        createProblem(
          'step',
          'invalid',
          `a step with at most ${MAX_POINTS} points in the result`,
          String(step),
        ),
      ])
    operations.push({
      operation: label,
      ...(await sums.toRecord()),
      breakers: [...new Set(names.flatMap((name) => [...(breakers.get(name) ?? [])]))].toSorted(),
    })
  }
  return {
    timeWindowStart: from,
    timeWindowEnd: to,
    step,
    total: await total.toRecord(),
    operations: operations.toSorted((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1)),
  }
}

/**
 * The operations with calls in the window, by their label in the result. Nodes can count different operations, so that
 * together they have more than a result lists: those with the fewest calls are `other`.
 */
async function namesByLabel(
  registries: readonly SeriesRegistry[],
  from: number,
  to: number,
  selected: string | undefined,
): Promise<Map<string, string[]>> {
  const calls = new Map<string, number>()
  let counted = 0
  for (const { operations } of registries)
    for (const [name, series] of operations) {
      if (selected !== undefined && name !== selected) continue
      if (++counted % COUNTS_PER_TURN === 0) await nextMacrotask()
      const counts = new Float64Array(FIELDS)
      series.sum(from, to, counts)
      const count = counts[OPERATION_FIELDS.calls] as number
      if (count > 0) calls.set(name, (calls.get(name) ?? 0) + count)
    }
  const names = [...calls]
    .filter(([name]) => name !== OTHER_LABEL)
    .toSorted((a, b) => b[1] - a[1])
    .map(([name]) => name)
  const result = new Map(names.slice(0, MAX_OPERATIONS).map((name) => [name, [name]]))
  const others = [...names.slice(MAX_OPERATIONS), ...(calls.has(OTHER_LABEL) ? [OTHER_LABEL] : [])]
  if (others.length > 0) result.set(OTHER_LABEL, others)
  return result
}

/** Adds the calls of an operation to sums. */
function addOperation(
  registries: readonly SeriesRegistry[],
  name: string,
  from: number,
  to: number,
  into: readonly WindowSums[],
): void {
  for (const { operations, operationLatencies } of registries) {
    const series = operations.find(name)
    series?.forEachSlot(from, to, (time, numbers, at) => {
      if (numbers[at + OPERATION_FIELDS.calls] === 0) return
      for (const sums of into) {
        series.addSlot(sums.total.counts, numbers, at)
        series.addSlot(sums.stepAt(time).counts, numbers, at)
      }
    })
    operationLatencies.find(name)?.forEachBucket(from, to, (time, bucket, weight) => {
      for (const sums of into) {
        sums.total.addLatency(bucket, weight)
        sums.stepAt(time).addLatency(bucket, weight)
      }
    })
  }
}

/** The breakers that calls of each operation had to pass, in the hours of the window. */
function breakersByOperation(
  registries: readonly SeriesRegistry[],
  from: number,
  to: number,
): Map<string, Set<string>> {
  const result = new Map<string, Set<string>>()
  for (const { operationBreakers } of registries)
    for (const [label, series] of operationBreakers) {
      const counts = new Float64Array(1)
      series.sum(Math.floor(from / series.shape.step) * series.shape.step, to, counts)
      const found = parseOperationBreaker(label)
      if (found === undefined || counts[0] === 0) continue
      const breakers = result.get(found.operation) ?? new Set()
      result.set(found.operation, breakers.add(found.breaker))
    }
  return result
}
