import type { Holdfast } from '@holdfast/runtime'
import { type CircuitBreaker, isHoldfastError } from 'holdfast'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import { isContractOperation, SHED_OPERATION } from './contract-policies.js'
import { ShedModel } from './shed-model.js'

/** The reasons of rejected calls whose records are limited, by the code of their error. */
const REASONS = { CIRCUIT_OPEN: 'circuit_open', BULKHEAD_FULL: 'bulkhead_full' } as const
type ShedReason = (typeof REASONS)[keyof typeof REASONS]
const CODES = Object.keys(REASONS) as readonly (keyof typeof REASONS)[]

/** The speed of a clock changes by at most 0.2 %, and the period of rejected calls is one second. */
const TOLERANCE_MS = 2

/** How many calls a burst has, in which time they begin, and how long each of them holds the slot of the bulkhead. */
const BURST_CALLS = 10
const BURST_MS = 2500
const MAX_RUN_MS = 1200

/** What the contract needs of the simulation. */
interface ShedParts {
  readonly scheduler: Scheduler
  /** The breakers of the operation with bursts. */
  readonly breakers: readonly CircuitBreaker[]
  /** Runs a check, unless the process has died. */
  check(fn: () => void): void
  /** The number of active calls of the process changes. */
  onActive(change: 1 | -1): void
}

/**
 * The rejected calls of one process, of all operations and reasons. It makes bursts of calls of an operation that its bulkhead and its
 * two breakers reject in turn, and compares the records, the events and the counters of each reason with the errors of the calls. A
 * rejected call keeps no permit of the breakers that have admitted it.
 */
export class ShedContract {
  private readonly process: Process
  private readonly runtime: Holdfast
  private readonly parts: ShedParts
  private readonly models = new Map<string, ShedModel>()
  /** The reasons of calls that ended with an event, by correlation id. */
  private readonly recordedReasons = new Map<string, string>()
  private readonly rejectionCounts = new Map<ShedReason, number>()
  private callCount = 0
  private runningCount = 0
  private isClosing = false

  constructor(process: Process, runtime: Holdfast, parts: ShedParts) {
    this.process = process
    this.runtime = runtime
    this.parts = parts
    runtime.events.on('retry_failure', ({ operation, correlationId, context }) => {
      if (operation === SHED_OPERATION)
        this.recordedReasons.set(String(correlationId), context?.stopped as string)
    })
    runtime.events.on('calls_shed', ({ operation, context }) => {
      const count = Number(context?.count)
      const { clock } = process
      if (isContractOperation(operation))
        parts.check(() =>
          this.modelOf(String(operation), String(context?.reason)).onReported(
            count,
            clock.now(),
            TOLERANCE_MS,
            this.isClosing,
          ),
        )
    })
  }

  /** A call of any operation of the contract was rejected, and was recorded or not. */
  onRejected(operation: string, reason: string, isRecorded: boolean): void {
    this.modelOf(operation, reason).onRejected(isRecorded, this.process.clock.now(), TOLERANCE_MS)
  }

  onClosing(): void {
    this.isClosing = true
  }

  /** Makes calls of which some are rejected by the bulkhead, and some by the breakers, which an operator opens for a time and closes. */
  startBurst(choices: Choices): void {
    if (this.parts.breakers.length === 0) throw new Error(`${SHED_OPERATION} has no breaker`)
    for (let count = 0; count < BURST_CALLS; count++) {
      const ms = choices.between(1, MAX_RUN_MS)
      this.schedule(choices.between(0, BURST_MS), () => this.call(ms))
    }
    for (const breaker of this.parts.breakers) {
      const openAt = choices.between(0, BURST_MS)
      const duration = choices.between(1, BURST_MS)
      this.schedule(openAt, () => breaker.trip({ duration }))
      this.schedule(openAt + choices.between(50, BURST_MS), () => breaker.reset())
    }
  }

  private schedule(ms: number, act: () => void): void {
    this.parts.scheduler.schedule(ms, () => {
      if (this.process.isAlive && !this.isClosing) act()
    })
  }

  /** Checks the counters and the events of a process whose calls have ended some time ago. */
  checkCalm(): void {
    if (this.runningCount > 0)
      throw new Violation(
        'hangs',
        `${this.runningCount} calls of ${SHED_OPERATION} of ${this.process.name} have not ended`,
      )
    this.checkReported(this.process.clock.now())
  }

  /** Checks the counters of a process, and that the periods that ended before a time were reported. */
  checkReported(now: number): void {
    for (const model of this.models.values()) model.checkReported(now, TOLERANCE_MS)
    const counted = this.runtime.metrics.counters().operations.find(SHED_OPERATION)?.rejections
    for (const reason of Object.values(REASONS)) {
      const expected = this.rejectionCounts.get(reason) ?? 0
      const got = counted?.get(reason) ?? 0
      if (got !== expected)
        throw new Violation(
          'policies',
          `${this.process.name} counted ${got} calls of ${SHED_OPERATION} rejected with ${reason}, expected ${expected}`,
        )
    }
  }

  private call(ms: number): void {
    const { process, runtime, parts } = this
    const id = `shed-${process.name}-${++this.callCount}`
    const run = () => new Promise<void>((resolve) => process.clock.setTimer(() => resolve(), ms))
    this.runningCount++
    parts.onActive(1)
    runtime.run(SHED_OPERATION, run, { correlationId: id }).then(
      () => this.onEnded(),
      (error: unknown) => {
        this.onEnded()
        parts.check(() => this.onFailed(id, error))
      },
    )
  }

  private onEnded(): void {
    this.runningCount--
    this.parts.onActive(-1)
    this.parts.check(() => this.checkPermits())
  }

  private checkPermits(): void {
    for (const { id, probePermits = [] } of this.parts.breakers) {
      // A permit that was released in another epoch stays in the list, with a mark.
      const held = probePermits.filter(({ epoch }) => epoch >= 0).length
      if (held > this.runningCount)
        throw new Violation(
          'probes',
          `${this.process.name} has ${held} permits of probes of ${id}, and ${this.runningCount} calls run`,
        )
    }
  }

  private onFailed(id: string, error: unknown): void {
    const recorded = this.recordedReasons.get(id)
    this.recordedReasons.delete(id)
    const code = CODES.find((each) => isHoldfastError(error, each))
    if (code === undefined) {
      if (this.isClosing && isHoldfastError(error, 'CANCELLED')) return
      throw new Violation('policies', `${id} failed with ${String(error)}, expected a rejection`)
    }
    const reason = REASONS[code]
    if (recorded !== undefined && recorded !== reason)
      throw new Violation('policies', `${id} was rejected with ${code}, and recorded as ${recorded}`)
    this.rejectionCounts.set(reason, (this.rejectionCounts.get(reason) ?? 0) + 1)
    this.onRejected(SHED_OPERATION, reason, recorded !== undefined)
  }

  private modelOf(operation: string, reason: string): ShedModel {
    const key = `${operation} (${reason})`
    const known = this.models.get(key) ?? new ShedModel(`${key} of ${this.process.name}`)
    this.models.set(key, known)
    return known
  }
}
