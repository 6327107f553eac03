import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker } from 'holdfast'
import type { RuntimeContainer } from '../../../runtime/src/holdfast/runtime-container.js'
import type { ContractOperation } from './contract-policies.js'

/** The private parts of a runtime that must be empty when no call runs. */
const containerOf = (runtime: Holdfast): RuntimeContainer =>
  (runtime as unknown as { readonly container: RuntimeContainer }).container

/** Calls, successes, retries and rejections of an operation over all time, by the series of this process. */
export function readSeries(runtime: Holdfast, operation: ContractOperation): readonly number[] {
  runtime.metrics.counters()
  const into = new Float64Array(4)
  containerOf(runtime).metrics.ownSeries.operations.find(operation)?.sum(0, Number.MAX_SAFE_INTEGER, into)
  return [...into]
}

/** How many retries the budget of an operation has; undefined without a budget. */
export function budgetLeft(runtime: Holdfast, operation: ContractOperation): number | undefined {
  return containerOf(runtime).calls.operationFor(operation).guard.settings.budget?.left
}

/** The breakers of an operation: those of all its policies. */
export const breakersOf = (runtime: Holdfast, operation: string): readonly CircuitBreaker[] =>
  containerOf(runtime).calls.operationFor(operation).breakers

interface QueueInternals {
  readonly head: unknown
  readonly timer: unknown
}

interface BulkheadInternals {
  readonly usedSlots: number
  readonly waiting: ReadonlyMap<unknown, unknown>
}

/** What a call can have left behind in the parts that all calls of an operation share. */
export function describeRemains(runtime: Holdfast, operation: ContractOperation): readonly string[] {
  const { calls, observers } = containerOf(runtime)
  const { guard } = calls.operationFor(operation)
  const remains: string[] = []
  for (const name of ['attemptDeadlines', 'totalDeadlines'] as const) {
    const { head, timer } = guard[name] as unknown as QueueInternals
    if (head !== undefined) remains.push(`an entry in ${name}`)
    if (timer !== undefined) remains.push(`a timer of ${name}`)
  }
  const { usedSlots = 0, waiting } = (guard.settings.bulkhead ?? {}) as Partial<BulkheadInternals>
  if (usedSlots !== 0) remains.push(`${usedSlots} used slots of its bulkhead`)
  if (waiting !== undefined && waiting.size > 0) remains.push(`${waiting.size} waiting calls`)
  for (const call of observers.active.all())
    if ((call as unknown as { operation?: { name?: unknown } }).operation?.name === operation)
      remains.push('an active call')
  return remains
}
