import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import type { CallReference } from './call-reference.js'
import { CONTRACT_OPERATIONS, type ContractOperation } from './contract-policies.js'
import { readSeries } from './runtime-internals.js'

/** What the metrics of one operation must have counted. */
interface Counts {
  succeeded: number
  recovered: number
  failed: number
  exhausted: number
  retries: number
  rejections: number
  calls: number
  attempts: number
}

const NO_COUNTS: Counts = {
  succeeded: 0,
  recovered: 0,
  failed: 0,
  exhausted: 0,
  retries: 0,
  rejections: 0,
  calls: 0,
  attempts: 0,
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0)

/** The counters of the calls that a process has made, for comparison with its metrics. */
export class ExpectedCounters {
  private readonly counts = new Map<ContractOperation, Counts>()
  /** The series of the metrics when the process started: they are restored from the store. */
  private readonly seriesBefore: ReadonlyMap<ContractOperation, readonly number[]>

  constructor(runtime: Holdfast) {
    this.seriesBefore = new Map(
      CONTRACT_OPERATIONS.map((operation) => [operation, readSeries(runtime, operation)]),
    )
  }

  /** A call has ended. */
  onEnded({ planned: { operation }, history, failedAttempts, stopped }: CallReference): void {
    const counts = this.counts.get(operation) ?? { ...NO_COUNTS }
    this.counts.set(operation, counts)
    const isSuccess = stopped === undefined || stopped === 'succeeded'
    // A hedged attempt that succeeds is one attempt, whatever its other runs did.
    const records = isSuccess && failedAttempts === 0 ? 1 : history.length
    const retries = Math.max(0, records - 1)
    counts.calls++
    counts.attempts += failedAttempts + (isSuccess ? 1 : 0)
    counts.retries += retries
    if (stopped === 'bulkhead_full') counts.rejections++
    if (isSuccess) counts[retries > 0 ? 'recovered' : 'succeeded']++
    else counts[retries > 0 ? 'exhausted' : 'failed']++
  }

  /** Compares the metrics of a process whose calls have ended. */
  check(process: string, runtime: Holdfast): void {
    const { operations } = runtime.metrics.counters()
    for (const [operation, expected] of this.counts) {
      const actual = operations.find(operation)
      const compare = (what: string, counted: number | undefined, wanted: number) => {
        if (counted !== wanted)
          throw new Violation(
            'policies',
            `${process} counted ${counted} ${what} of ${operation}, expected ${wanted}`,
          )
      }
      for (const field of ['succeeded', 'recovered', 'failed', 'exhausted', 'retries'] as const)
        compare(field, actual?.[field], expected[field])
      compare('rejections', sum(actual?.rejections.values() ?? []), expected.rejections)
      compare('durations of calls', sum(actual?.calls.counts ?? []), expected.calls)
      compare('durations of attempts', sum(actual?.attempts.counts ?? []), expected.attempts)
      const { succeeded, recovered, retries, rejections, calls } = expected
      const before = this.seriesBefore.get(operation) ?? []
      for (const [at, total] of readSeries(runtime, operation).entries())
        compare(
          ['calls', 'successes', 'retries', 'rejections'][at] ?? '',
          total - (before[at] ?? 0),
          [calls, succeeded + recovered, retries, rejections][at] ?? 0,
        )
    }
  }
}
