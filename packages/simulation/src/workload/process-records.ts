import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import type { ProcessWork } from '../invariants/memory-model.js'
import { isContractOperation } from '../policies/contract-policies.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { CallerSignals } from './caller-signals.js'

interface BreakerCounts {
  closed: number
  open: number
  half_open: number
}

const BREAKER_EVENTS = {
  closed: 'circuit_breaker_closed',
  open: 'circuit_breaker_opened',
  half_open: 'circuit_breaker_half_opened',
} as const

const STATES = ['closed', 'open', 'half_open'] as const

const NO_WORK: ProcessWork = { startedCount: 0, activeCount: 0 }

/** How often the breakers of a process entered each state, as its metrics count it. */
function countBreakerChanges(runtime: Holdfast): BreakerCounts {
  const sum: BreakerCounts = { closed: 0, open: 0, half_open: 0 }
  for (const [, counts] of runtime.metrics.counters().breakers)
    for (const state of STATES) sum[state] += counts[state]
  return sum
}

/** The work of one process, and what it reported. */
export interface ProcessRecord {
  /** Calls and actions since the process started, and those of them that have not ended, with the handlers that run. */
  startedCount: number
  activeCount: number
  /** The items whose dead letters were reported as not stored. */
  readonly itemsNotStored: Set<string>
  readonly signals: CallerSignals
  /** Attempts that succeeded, and events of calls that succeeded after a retry. */
  successes: number
  recoveries: number
  /** Events of calls that failed, and calls that were rejected without such an event. */
  failures: number
  /** Events of breakers, by the new state, and the counters of the breakers when the process started. */
  readonly breakerEvents: BreakerCounts
  readonly breakersBefore: BreakerCounts
}

/** What each process has done by its own account, for comparison with its counters. */
export class ProcessRecords {
  private readonly records = new WeakMap<Process, ProcessRecord>()

  onStarted(process: Process, runtime: Holdfast): void {
    const record: ProcessRecord = {
      startedCount: 0,
      activeCount: 0,
      itemsNotStored: new Set(),
      signals: new CallerSignals(),
      successes: 0,
      recoveries: 0,
      failures: 0,
      breakerEvents: { closed: 0, open: 0, half_open: 0 },
      breakersBefore: countBreakerChanges(runtime),
    }
    this.records.set(process, record)
    runtime.events.on('dead_letter_failed', ({ context }) => {
      if (typeof context?.item_id === 'string') record.itemsNotStored.add(context.item_id)
    })
    runtime.events.on('retry_success', ({ operation }) => {
      if (!isContractOperation(operation)) record.recoveries++
    })
    runtime.events.on('retry_failure', ({ operation }) => {
      if (!isContractOperation(operation)) record.failures++
    })
    // The first of the calls has an event of its own.
    runtime.events.on('calls_shed', ({ operation, context }) => {
      if (!isContractOperation(operation)) record.failures += Number(context?.count) - 1
    })
    for (const state of STATES)
      runtime.events.on(BREAKER_EVENTS[state], () => void record.breakerEvents[state]++)
  }

  get(process: Process): ProcessRecord | undefined {
    return this.records.get(process)
  }

  /** How much work a process has had, and has now. */
  workOf(process: Process): ProcessWork {
    return this.records.get(process) ?? NO_WORK
  }

  /** A call of the contract of policies begins or ends. It has counters of its own. */
  countContractCall(process: Process, change: 1 | -1): void {
    const record = this.records.get(process)
    if (record === undefined) return
    if (change === 1) record.startedCount++
    record.activeCount += change
  }

  countSuccess(process: Process): void {
    const record = this.records.get(process)
    if (record !== undefined) record.successes++
  }

  /**
   * Compares the counters of each node with the calls that it made and with its events. Events about rejected calls follow within a
   * second, so failures are compared at rest.
   */
  checkCounters(nodes: readonly SimulatedNode[], isAtRest: boolean): void {
    for (const { process } of nodes) {
      const record = process && this.records.get(process)
      if (process?.runtime === undefined || record === undefined) continue
      let [succeeded, recovered, failed] = [0, 0, 0]
      for (const [operation, counters] of process.runtime.metrics.counters().operations) {
        if (isContractOperation(operation)) continue
        succeeded += counters.succeeded
        recovered += counters.recovered
        failed += counters.failed + counters.exhausted
      }
      const compare = (what: string, counted: number, expected: number) => {
        if (counted !== expected)
          throw new Violation('counters', `${process.name} counted ${counted} ${what}, expected ${expected}`)
      }
      compare('calls that succeeded', succeeded + recovered, record.successes)
      compare('calls that recovered', recovered, record.recoveries)
      if (isAtRest) {
        compare('calls that failed', failed, record.failures)
        compare('listeners of a signal without calls', record.signals.listenerCount, 0)
      }
      const changes = countBreakerChanges(process.runtime)
      for (const state of STATES)
        compare(
          `changes of breakers to ${state}`,
          changes[state] - record.breakersBefore[state],
          record.breakerEvents[state],
        )
    }
  }
}
