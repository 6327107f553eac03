import { checkOptions, type MetricsByOperation, MINUTE_MS, type OptionCheck } from '@holdfast/records'
import { createOptionsError, createProblem } from 'holdfast/internal'
import { OTHER_LABEL } from './labelled-values.js'
import { histogramQuantiles, LATENCY_BUCKETS } from './latency-log.js'
import { checkWindow } from './queries.js'
import {
  MAX_OPERATIONS,
  OPERATION_FIELDS,
  parseOperationBreaker,
  type SeriesRegistry,
} from './series-registry.js'

type SeriesRegistries = readonly SeriesRegistry[]

/** The most points of a result: about 20 MB of JSON. */
const MAX_POINTS = 100_000

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

/** The counts of an operation in a window or in one of its steps. */
class CallSums {
  readonly counts = new Float64Array(FIELDS)
  private histogram: Float64Array | undefined = undefined

  addLatency(bucket: number, weight: number): void {
    this.histogram ??= new Float64Array(LATENCY_BUCKETS)
    this.histogram[bucket] = (this.histogram[bucket] as number) + weight
  }

  toRecord() {
    const [calls = 0, successes = 0, retries = 0, rejections = 0] = this.counts
    const latency = histogramQuantiles(this.histogram ?? new Float64Array())
    return { calls, successes, failures: calls - successes, retries, rejections, latency }
  }
}

/** The calls of operations. The minutes that start in the window are counted, and the minute in which it starts. */
export function queryOperations(
  registries: SeriesRegistries,
  { from, to, step, operation }: OperationsQuery & { step: number },
): MetricsByOperation {
  const [start, end] = [Math.floor(from.getTime() / MINUTE_MS) * MINUTE_MS, to.getTime()]
  const breakers = breakersByOperation(registries, start, end)
  const operations: MetricsByOperation['operations'] = []
  const byLabel = namesByLabel(registries, start, end, operation)
  let points = 0
  for (const [label, names] of byLabel) {
    const sums = sumOperations(registries, names, start, end, step)
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
      ...toCounts(sums),
      breakers: [...new Set(names.flatMap((name) => [...(breakers.get(name) ?? [])]))].toSorted(),
    })
  }
  return {
    timeWindowStart: from,
    timeWindowEnd: to,
    step,
    total: toCounts(sumOperations(registries, [...byLabel.values()].flat(), start, end, step)),
    operations: operations.toSorted((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1)),
  }
}

/**
 * The operations with calls in the window, by their label in the result. Nodes can count different operations, so that
 * together they have more than a result lists: those with the fewest calls are `other`.
 */
function namesByLabel(
  registries: SeriesRegistries,
  from: number,
  to: number,
  selected: string | undefined,
): Map<string, string[]> {
  const calls = new Map<string, number>()
  for (const { operations } of registries)
    for (const [name, series] of operations) {
      if (selected !== undefined && name !== selected) continue
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

/** The sums of a window, and those of its steps by their start. */
interface WindowSums {
  readonly total: CallSums
  readonly steps: ReadonlyMap<number, CallSums>
}

const toCounts = ({ total, steps }: WindowSums) => ({
  ...total.toRecord(),
  dataPoints: [...steps]
    .toSorted(([a], [b]) => a - b)
    .map(([at, sums]) => ({ timestamp: new Date(at), ...sums.toRecord() })),
})

/** Sums the calls of operations, in total and by step. */
function sumOperations(
  registries: SeriesRegistries,
  names: readonly string[],
  from: number,
  to: number,
  step: number,
): WindowSums {
  const total = new CallSums()
  const steps = new Map<number, CallSums>()
  const sumsAt = (time: number): CallSums => {
    const at = Math.floor(time / step) * step
    const sums = steps.get(at) ?? new CallSums()
    steps.set(at, sums)
    return sums
  }
  for (const { operations, operationLatencies } of registries)
    for (const name of names) {
      const series = operations.find(name)
      series?.forEachSlot(from, to, (time, numbers, at) => {
        if (numbers[at + OPERATION_FIELDS.calls] === 0) return
        series.addSlot(total.counts, numbers, at)
        series.addSlot(sumsAt(time).counts, numbers, at)
      })
      operationLatencies.find(name)?.forEachBucket(from, to, (time, bucket, weight) => {
        total.addLatency(bucket, weight)
        sumsAt(time).addLatency(bucket, weight)
      })
    }
  return { total, steps }
}

/** The breakers that calls of each operation had to pass, in the hours of the window. */
function breakersByOperation(
  registries: SeriesRegistries,
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
