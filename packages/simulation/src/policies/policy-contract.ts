import { getEventListeners } from 'node:events'
import type { RetrySession } from '@holdfast/records'
import type { Holdfast } from '@holdfast/runtime'
import { type Attempt, stopRetrying } from 'holdfast'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import { BudgetModel } from './budget-model.js'
import { BulkheadModel } from './bulkhead-model.js'
import {
  CallReference,
  isUnwanted,
  type ReferenceClock,
  type ReferenceLimits,
  type ReferenceRun,
} from './call-reference.js'
import {
  CONTRACT_OPERATIONS,
  CONTRACT_POLICIES,
  type ContractOperation,
  type ContractPolicy,
  isContractOperation,
  LIMITED_POLICY,
  SHED_OPERATION,
} from './contract-policies.js'
import { ExpectedCounters } from './expected-counters.js'
import { BreakerTimes } from './hedge-reference.js'
import {
  CLOSING_KINDS,
  type PlannedContractCall,
  planClosingGroup,
  planContractGroup,
  planOutage,
} from './planned-contract-calls.js'
import { breakersOf, budgetLeft, describeRemains } from './runtime-internals.js'
import { compareSession } from './session-check.js'
import { ShedContract } from './shed-contract.js'

/** All calls of a group have ended after this time, and their functions too. */
const CALM_AFTER_MS = 25_000

/** How long a close may take while no call runs and the store is available. It is less than the grace period of active calls. */
const MAX_IDLE_CLOSE_MS = 8000

/** By how much times can differ: without a change of the clock's speed, and with one. */
const TOLERANCE_MS = 0.1
const DRIFT_TOLERANCE_MS = 60
/** Tolerates the rounding of sums. */
const BUDGET_TOLERANCE = 1e-6
/** The share of groups with a burst of calls that are rejected for several reasons. */
const SHED_SHARE = 0.25

/** What the contract needs of the simulation. */
export interface ContractParts {
  readonly scheduler: Scheduler
  check(fn: () => void): void
  trace(subject: string, text: string): void
  /** Whether no call and no handler of a process runs. */
  isIdle(process: Process): boolean
  /** The number of active calls of a process changes. */
  onActive(process: Process, change: 1 | -1): void
}

/** The calls of the contract in one process. */
class ProcessCalls {
  readonly process: Process
  readonly runtime: Holdfast
  readonly calls = new Map<string, CallReference>()
  /** Calls that have ended and whose sessions are not stored, by correlation id. */
  readonly waitingRecords = new Map<string, CallReference>()
  readonly limits = new Map<ContractOperation, ReferenceLimits>()
  readonly rejectedCalls: ShedContract
  /** The signals of the callers since the last time without calls. */
  signals: AbortSignal[] = []
  readonly counters: ExpectedCounters
  isClosing = false
  /** When the process began to close while nothing ran that delays it. */
  idleCloseAt: number | undefined = undefined

  constructor(process: Process, runtime: Holdfast, rejectedCalls: ShedContract) {
    this.process = process
    this.runtime = runtime
    this.rejectedCalls = rejectedCalls
    this.counters = new ExpectedCounters(runtime)
    for (const operation of CONTRACT_OPERATIONS) {
      const { bulkhead, budget, circuitBreaker }: ContractPolicy = CONTRACT_POLICIES[operation]
      const name = `${operation} of ${process.name}`
      this.limits.set(operation, {
        bulkhead: bulkhead && new BulkheadModel(name, bulkhead),
        budget: budget && new BudgetModel(budget),
        breaker: circuitBreaker === undefined ? undefined : new BreakerTimes(),
      })
    }
  }
}

/**
 * A naive client of the policies of each process: it makes groups of calls with all features of policies, and compares each step of each
 * call with what its policy permits: attempts, delays, timeouts, hedges, slots, budgets, fallbacks, events, sessions and counters.
 */
export class PolicyContract {
  callCount = 0
  /** Whether all processes close now, so that nothing may delay them. */
  isFinal = false
  private readonly parts: ContractParts
  private readonly processes = new Map<Process, ProcessCalls>()
  /** Processes whose bulkheads changed in the current event. */
  private readonly changed = new Set<ProcessCalls>()

  constructor(parts: ContractParts) {
    this.parts = parts
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const rejectedCalls = new ShedContract(process, runtime, {
      scheduler: this.parts.scheduler,
      breakers: breakersOf(runtime, SHED_OPERATION),
      check: (fn) => this.check(own, fn),
      onActive: (change) => this.parts.onActive(process, change),
    })
    const own: ProcessCalls = new ProcessCalls(process, runtime, rejectedCalls)
    this.processes.set(process, own)
    const find = (correlationId: unknown) => own.calls.get(String(correlationId))
    runtime.events.on('retry_attempt', ({ correlationId, attempt, delay }) =>
      this.check(own, () => find(correlationId)?.onRetryScheduled(Number(attempt), Number(delay))),
    )
    runtime.events.on('retry_success', ({ correlationId }) =>
      this.check(own, () => find(correlationId)?.onEndReported(true, undefined)),
    )
    runtime.events.on('retry_failure', ({ correlationId, context }) =>
      this.check(own, () =>
        find(correlationId)?.onEndReported(false, context?.stopped as string | undefined),
      ),
    )
  }

  onKilled(process: Process): void {
    this.processes.delete(process)
  }

  /** Makes a group of calls in a process, and checks later that nothing of them is left. */
  startGroup(process: Process, choices: Choices): void {
    const own = this.processes.get(process)
    if (own === undefined || own.isClosing) return
    const group = planContractGroup(choices)
    for (const planned of group) this.schedule(own, planned)
    for (const operation of new Set(group.map((planned) => planned.operation)))
      if (own.limits.get(operation)?.breaker !== undefined) this.scheduleOutage(own, operation, choices)
    if (choices.chance(SHED_SHARE)) own.rejectedCalls.startBurst(choices)
    this.parts.scheduler.schedule(CALM_AFTER_MS, () => {
      if (!own.isClosing) this.check(own, () => this.checkCalm(own))
    })
  }

  /** The runtime of a process closes now. Some calls have just begun, and a later one must be rejected. */
  onClosing(process: Process, choices: Choices): void {
    const own = this.processes.get(process)
    if (own === undefined || own.isClosing) return
    const kind = choices.pick(this.isFinal ? CLOSING_KINDS.slice(0, 2) : CLOSING_KINDS)
    if (this.parts.isIdle(process) && (kind === 'idle' || kind === 'short'))
      own.idleCloseAt = this.parts.scheduler.now
    for (const planned of planClosingGroup(choices, kind)) this.start(own, planned)
    own.isClosing = true
    own.rejectedCalls.onClosing()
    for (const call of own.calls.values()) call.onClosing()
    this.parts.scheduler.schedule(choices.between(0, 50), () => {
      if (process.isAlive) this.checkRejected(own)
    })
  }

  /** The runtime of a process is closed. */
  onClosed(process: Process, wasStoreAvailable: boolean): void {
    const own = this.processes.get(process)
    if (own === undefined) return
    this.check(own, () => {
      const ms = this.parts.scheduler.now - (own.idleCloseAt ?? this.parts.scheduler.now)
      if (wasStoreAvailable && ms > MAX_IDLE_CLOSE_MS)
        throw new Violation('policies', `${process.name} took ${ms} ms to close, and nothing ran`)
      for (const call of own.calls.values())
        if (!call.isEnded)
          throw new Violation('policies', `${call.name} has not ended, and its runtime is closed`)
      own.rejectedCalls.checkReported(Number.POSITIVE_INFINITY)
      own.counters.check(process.name, own.runtime)
    })
  }

  /** A process writes sessions to its store. */
  onSessionsWritten(process: Process, sessions: readonly RetrySession[]): void {
    const own = this.processes.get(process)
    if (own === undefined) return
    for (const session of sessions) {
      const call = own.waitingRecords.get(session.correlationId)
      if (call !== undefined) this.check(own, () => compareSession(session, call))
      own.waitingRecords.delete(session.correlationId)
    }
  }

  /** Called after each event, when all promises have settled. */
  onEventEnded(): void {
    if (this.changed.size === 0) return
    for (const own of this.changed)
      this.check(own, () => {
        for (const { bulkhead } of own.limits.values()) bulkhead?.checkSlots()
      })
    this.changed.clear()
  }

  private schedule(own: ProcessCalls, planned: PlannedContractCall): void {
    const { breaker } = own.limits.get(planned.operation) ?? {}
    this.parts.scheduler.schedule(planned.afterMs, () => {
      // The breaker model rejects no calls: it is about the hedges and the retries of calls that run.
      if (own.process.isAlive && !own.isClosing && breaker?.isOpen !== true) this.start(own, planned)
    })
  }

  /** An operator opens a breaker while calls run, and closes it again. */
  private scheduleOutage(own: ProcessCalls, operation: ContractOperation, choices: Choices): void {
    const { process, runtime, limits } = own
    const times = limits.get(operation)?.breaker
    const { breaker } = runtime.guard(operation)
    if (times === undefined || breaker === undefined) return
    const { openAt, closeAt } = planOutage(choices)
    this.parts.scheduler.schedule(openAt, () => {
      if (!process.isAlive || own.isClosing) return
      times.onOpened(process.clock.now())
      breaker.trip()
    })
    this.parts.scheduler.schedule(closeAt, () => {
      if (!process.isAlive) return
      times.onClosed(process.clock.now())
      breaker.reset()
    })
  }

  private start(own: ProcessCalls, planned: PlannedContractCall): void {
    const { process, runtime } = own
    const { clock } = process
    const { operation, retry, timeout } = planned
    const id = `contract-${process.name}-${++this.callCount}`
    const override = (policy: ContractPolicy): ContractPolicy => ({
      ...policy,
      ...retry,
      ...(timeout && { attemptTimeout: timeout.attempt, totalTimeout: timeout.total }),
    })
    const policies = {
      default: override(CONTRACT_POLICIES[operation]),
      limited: operation === 'contract.kinds' ? override(LIMITED_POLICY) : undefined,
    }
    const { rateChangeCount } = clock
    const referenceClock: ReferenceClock = {
      now: () => clock.now(),
      toleranceMs: () => (clock.rateChangeCount === rateChangeCount ? TOLERANCE_MS : DRIFT_TOLERANCE_MS),
    }
    const limits = own.limits.get(operation) as ReferenceLimits
    const call = new CallReference(`${id} (${operation})`, planned, policies, limits, referenceClock)
    own.calls.set(id, call)
    limits.bulkhead?.onSubmitted(call)
    const controller = new AbortController()
    if (planned.hasSignal) own.signals.push(controller.signal)
    const { abortAfterMs, cancelAfterMs, hasSignal } = planned
    const isWaiting = () => process.isAlive && own.calls.get(id) === call
    if (abortAfterMs !== undefined)
      clock.setTimer(() => {
        if (!isWaiting()) return
        const error = new Error(`${id} was aborted`)
        this.check(own, () => call.onStopRequested('aborted', error))
        controller.abort(error)
      }, abortAfterMs)
    if (cancelAfterMs !== undefined)
      clock.setTimer(() => {
        if (isWaiting()) void this.cancel(own, id, call)
      }, cancelAfterMs)
    this.parts.onActive(process, 1)
    const promise = runtime.run(operation, (attempt) => this.callFunction(own, call, attempt), {
      correlationId: id,
      ...(hasSignal && { signal: controller.signal }),
      ...this.createOptions(own, call),
    })
    this.check(own, () => call.onSubmitted())
    const onSettled = (settled: { value: unknown } | { error: unknown }) => {
      this.parts.onActive(process, -1)
      this.check(own, () => {
        call.onSettled(settled)
        this.onEnded(own, id, call)
      })
    }
    promise.then(
      (value) => onSettled({ value }),
      (error: unknown) => onSettled({ error }),
    )
  }

  /** The retry options, timeouts and the fallback of a call. */
  private createOptions(own: ProcessCalls, call: CallReference): object {
    const { retry, timeout, beforeRetry, fallback, runs } = call.planned
    const { clock } = own.process
    const wait = (ms: number) => new Promise<void>((resolve) => clock.setTimer(() => resolve(), ms))
    const hasRetryIf = runs.some(({ end }) => end === 'unwanted')
    const runBeforeRetry = async (ms: number, fails: boolean) => {
      let onEnd: ReturnType<CallReference['onBeforeRetry']> | undefined
      this.check(own, () => {
        onEnd = call.onBeforeRetry()
      })
      await wait(ms)
      const error = fails ? new Error(`beforeRetry of ${call.name}`) : undefined
      this.check(own, () => onEnd?.(error))
      if (error !== undefined) throw error
    }
    const runFallback = async (ms: number, fails: boolean) => {
      let onEnd: ReturnType<CallReference['onFallback']> | undefined
      this.check(own, () => {
        onEnd = call.onFallback()
      })
      await wait(ms)
      const error = new Error(`fallback of ${call.name}`)
      const value = `the value of the fallback of ${call.name}`
      this.check(own, () => onEnd?.(fails ? { error } : { value }))
      if (fails) throw error
      return value
    }
    return {
      ...((retry !== undefined || beforeRetry !== undefined || hasRetryIf) && {
        retry: {
          ...retry,
          ...(hasRetryIf && { retryIf: ({ value }: { value?: unknown }) => isUnwanted(value) }),
          ...(beforeRetry && { beforeRetry: () => runBeforeRetry(beforeRetry.ms, beforeRetry.fails) }),
        },
      }),
      ...(timeout && { timeout }),
      ...(fallback && { fallback: () => runFallback(fallback.ms, fallback.fails) }),
    }
  }

  private callFunction(own: ProcessCalls, call: CallReference, attempt: Attempt): Promise<string> {
    const { clock } = own.process
    const { signal } = attempt
    let started: ReferenceRun | undefined
    this.check(own, () => {
      started = call.onRunStarted(attempt.number)
    })
    return new Promise((resolve, reject) => {
      if (started === undefined) return
      const run = started
      const { ms, end, retryAfter, ignoresSignal } = run.planned
      const onEnd = () => {
        this.changed.add(own)
        this.check(own, () => call.onRunEnded(run))
      }
      signal.addEventListener('abort', () => {
        this.check(own, () => call.onRunAborted(run))
        if (ignoresSignal || run.isSettled) return
        clock.clearTimer(timer)
        onEnd()
        reject(signal.reason as Error)
      })
      const timer = clock.setTimer(() => {
        onEnd()
        if (end === 'value' || end === 'unwanted') resolve(run.value)
        else reject(toError(run, end, retryAfter))
      }, ms)
    })
  }

  /** An operator cancels a call. Before that, the list of active calls must be right. */
  private async cancel(own: ProcessCalls, id: string, call: CallReference): Promise<void> {
    const { runtime, process } = own
    const { items } = await runtime.sessions.list({ active: true })
    if (!process.isAlive) return
    const active = items.filter(({ operation }) => isContractOperation(operation))
    this.check(own, () => {
      const expected = [...own.calls.values()].filter(({ failedAttempts }) => failedAttempts > 0)
      if (active.length !== expected.length)
        throw new Violation(
          'policies',
          `${process.name} lists ${active.length} active calls of the contract, expected ${expected.length}`,
        )
      for (const session of active) {
        const { attempt, history } = own.calls.get(session.correlationId) ?? {}
        if (session.totalAttempts !== attempt || session.attempts.length !== history?.length)
          throw new Violation(
            'policies',
            `${process.name} lists ${session.correlationId} with attempt ${session.totalAttempts} and ${session.attempts.length} records, expected ${attempt} and ${history?.length}`,
          )
      }
    })
    const session = active.find(({ correlationId }) => correlationId === id)
    if (session === undefined) return
    this.check(own, () => call.onStopRequested('cancelled', undefined))
    // The audit record of the cancellation needs the store, which can fail.
    await runtime.sessions.cancel(session.sessionId, { by: 'contract' }).catch(() => {})
  }

  private onEnded(own: ProcessCalls, id: string, call: CallReference): void {
    const { process } = own
    own.calls.delete(id)
    own.counters.onEnded(call)
    if (call.endEvents > 0) own.waitingRecords.set(id, call)
    if (call.stopped === 'bulkhead_full')
      own.rejectedCalls.onRejected(call.planned.operation, 'bulkhead_full', !call.isShed)
    this.changed.add(own)
    this.parts.trace(process.name, `${call.name} ended: ${call.stopped ?? 'succeeded'}`)
  }

  private checkCalm(own: ProcessCalls): void {
    const { calls, process, runtime, counters, limits, rejectedCalls, signals } = own
    rejectedCalls.checkCalm()
    for (const { name, state } of calls.values())
      throw new Violation('hangs', `${name} has not ended in ${CALM_AFTER_MS} ms: it is ${state}`)
    counters.check(process.name, runtime)
    const listenerCount = signals.reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, 0)
    if (listenerCount > 0)
      throw new Violation(
        'policies',
        `${process.name} has ${listenerCount} listeners of signals, and no call runs`,
      )
    own.signals = []
    const now = process.clock.now()
    for (const operation of CONTRACT_OPERATIONS) {
      const { bulkhead, budget } = limits.get(operation) ?? {}
      const left = budgetLeft(runtime, operation)
      if (left !== undefined && Math.abs(left - Number(budget?.left(now))) > BUDGET_TOLERANCE)
        throw new Violation(
          'policies',
          `${process.name} has ${left} retries left for ${operation}, expected ${budget?.left(now)}`,
        )
      if (bulkhead?.isEmpty === false) continue
      const [remains] = describeRemains(runtime, operation)
      if (remains !== undefined)
        throw new Violation('policies', `${process.name} has ${remains} of ${operation}, and no call runs`)
    }
  }

  /** A call after `close` is rejected, and its function is not called. */
  private checkRejected(own: ProcessCalls): void {
    const { process, runtime } = own
    const fail = (problem: string) =>
      this.check(own, () => {
        throw new Violation('policies', `${process.name} is closed and ${problem}`)
      })
    runtime
      .run('contract-plain', () => fail('called the function of a new call'))
      .then(
        () => fail('a new call succeeded'),
        ({ code }: { code?: unknown }) => {
          if (code !== 'CANCELLED') fail(`a new call failed with ${String(code)}, expected CANCELLED`)
        },
      )
  }

  /** Runs a check, unless the process has died: its code that still runs has no meaning. */
  private check({ process }: ProcessCalls, fn: () => void): void {
    if (process.isAlive) this.parts.check(fn)
  }
}

function toError({ error }: ReferenceRun, end: string, retryAfter: number): Error {
  switch (end) {
    case 'permanent':
      return Object.assign(error, { status: 400 })
    case 'limited':
      return Object.assign(error, { status: 429, retryAfter })
    case 'stop':
      return stopRetrying(error)
    default:
      return Object.assign(error, { code: 'ECONNRESET' })
  }
}
