import type { Holdfast } from '@holdfast/runtime'
import { isHoldfastError } from 'holdfast'
import { POLICY_LIMITS } from '../cluster/config.js'
import type { DeadLetterModel } from '../dead-letters/dead-letter-model.js'
import type { Scheduler } from '../engine/scheduler.js'
import { Violation } from '../engine/violation.js'
import type { CallLimits } from '../invariants/call-model.js'
import { CallModel } from '../invariants/call-model.js'
import type { MemberChangeModel } from '../invariants/member-change-model.js'
import type { OpeningModel } from '../invariants/opening-model.js'
import type { PermitModel } from '../invariants/permit-model.js'
import type { PoolAttempt, PoolModel } from '../invariants/pool-model.js'
import type { Process } from '../process/simulated-node.js'
import type { AttemptEnd, Upstreams } from '../process/upstreams.js'
import {
  ALL_OPERATIONS,
  MEMBERS,
  type MemberId,
  type Operation,
  type PlannedAttempt,
  type PlannedCall,
  POOL,
  POOL_OPERATION,
} from '../scenario/scenario.js'
import { changeMember } from './member-changes.js'
import { ProcessRecords } from './process-records.js'

/**
 * The longest time that each action may take, whatever fails. All of them can wait for the store, which retries for up to 45 s, after
 * earlier requests of the process; a replay also waits for its handler.
 */
const LIMIT_MS: Record<PlannedCall['action'], number> = {
  run: 120_000,
  enqueue: 120_000,
  replay: 900_000,
  replayBatch: 3_000_000,
  complete: 180_000,
  trip: 180_000,
  reset: 180_000,
  request: 120_000,
  member: 300_000,
}

/** A call of an operation without a timeout takes as long as its attempts. */
const UNLIMITED_MS = 2_700_000

/** A handler of a replay that ends before its deadline in most cases. */
const DEFAULT_ATTEMPT: PlannedAttempt = { ms: 50, fails: false }

/** The share of requests to store an item that repeat the last one. */
const REPEATED_SHARE = 0.4
const REPEATED_ELSEWHERE_SHARE = 0.2

/** The share of requests that use the key of an item in the disk fallback of another node for another item. */
const CONFLICTING_SHARE = 0.5

/** The share of runs with a fallback, that of fallbacks that fail, and the longest time of one. */
const FALLBACK_SHARE = 0.15
const FAILED_FALLBACK_SHARE = 0.6
const MAX_FALLBACK_MS = 400

/** A fallback of a run, which takes some time. */
interface PlannedFallback {
  readonly ms: number
  readonly fails: boolean
}

/** The fallback of a run; undefined without one. It depends on other digits of the fraction than the signal of the caller. */
function planFallback(target: number): PlannedFallback | undefined {
  const digits = (target * 1000) % 1
  if (digits < 1 - FALLBACK_SHARE) return undefined
  const share = (1 - digits) / FALLBACK_SHARE
  return { ms: share * MAX_FALLBACK_MS, fails: (target * 100_000) % 1 < FAILED_FALLBACK_SHARE }
}

/** The dead letters of a store, as the workload uses them. */
type QueueModel = Pick<DeadLetterModel, 'onAcknowledged' | 'onHandlerStarted' | 'onHandlerEnded'> & {
  readonly entries: ReadonlyMap<string, { readonly isCompleted: boolean }>
  /** Ids that a disk fallback has acknowledged. */
  readonly fallbackIds?: Iterable<string>
  /** Whether a disk fallback has acknowledged an id. */
  hasFallbackId?(id: string): boolean
  /** A process reports that it has completed an entry by a replay. */
  onReplayReported?(id: string): void
}

/** What the workload needs of the simulation. */
export interface WorkloadParts {
  readonly scheduler: Scheduler
  readonly upstreams: Upstreams
  /** The dead letters of the store of a process. */
  queueOf(process: Process): QueueModel
  readonly openings: Pick<OpeningModel, 'onTripped' | 'onAttemptFailed'>
  readonly permits: Pick<PermitModel, 'onAttempt'>
  readonly pools: Pick<PoolModel, 'onAttemptStarted' | 'onAttemptEnded' | 'onTripped' | 'runningMember'>
  readonly memberChanges: Pick<MemberChangeModel, 'onStarted'>
  trace(subject: string, text: string): void
  /** Runs a check, and ends the simulation if it finds a violation. */
  check(fn: () => void): void
}

/** An item to store. */
interface PlannedEnqueue {
  readonly request: {
    readonly operation: Operation
    readonly itemId: string
    readonly idempotencyKey: string
  }
  readonly payload: object
}

/** Makes the calls of a scenario, and checks their results. */
export class Workload {
  /** `idle` counts actions that had nothing to do: there was no entry to replay or to complete. */
  readonly counts = { started: 0, skipped: 0, idle: 0, succeeded: 0, failed: 0, handlers: 0 }
  readonly records = new ProcessRecords()
  private readonly parts: WorkloadParts
  /** The attempts of handlers that come next, by operation, so that replays differ. */
  private readonly handlerAttempts = new Map<Operation, PlannedAttempt>()

  /** The last item that each node was to store. */
  private readonly lastEnqueues = new Map<string | QueueModel, PlannedEnqueue>()

  /** The last item that a disk fallback has acknowledged, its node, and the queue that the node shares with others. */
  private lastInFallback:
    | { readonly node: string; readonly queue: QueueModel; readonly request: PlannedEnqueue['request'] }
    | undefined

  constructor(parts: WorkloadParts) {
    this.parts = parts
  }

  /** Registers handlers and starts the worker of a new process. The first node has neither: it requests replays from others. */
  onStarted(process: Process, runtime: Holdfast): void {
    this.records.onStarted(process, runtime)
    runtime.events.on('dead_letter_replayed', ({ context }) =>
      this.checkAlive(process, () => {
        const id = String(context?.dlq_id)
        const queue = this.parts.queueOf(process)
        queue.onReplayReported?.(id)
        if (queue.entries.get(id)?.isCompleted !== true)
          throw new Violation(
            'completed',
            `${process.name} reported the replay of ${id}, which is not completed`,
          )
      }),
    )
    if (process.name.startsWith('n0.')) return
    for (const operation of ALL_OPERATIONS)
      runtime.deadLetters.handle(operation, (_payload, { dlqId }, { signal }) =>
        this.handle(process, operation, dlqId, signal),
      )
    const own = ownOperation(process)
    runtime.deadLetters.handle(own, (_payload, { dlqId }, { signal }) =>
      this.handle(process, own, dlqId, signal),
    )
    runtime.deadLetters.work({ concurrency: 2, interval: 10_000 }).catch((error: unknown) => {
      if (process.isAlive) this.parts.trace(process.name, `the worker ended: ${codeOf(error)}`)
    })
  }

  /** Makes a call in a process that is open. */
  start(process: Process, runtime: Holdfast, call: PlannedCall, number: number): void {
    this.counts.started++
    const { scheduler } = this.parts
    const record = this.records.get(process)
    if (record !== undefined) {
      record.startedCount++
      record.activeCount++
    }
    let isSettled = false
    const onSettled = (text: string) => {
      isSettled = true
      if (record !== undefined) record.activeCount--
      if (process.isAlive) this.parts.trace(process.name, `${call.action} ${number} ${text}`)
    }
    this.parts.trace(process.name, `${call.action} ${number} ${call.operation}`)
    this.act(process, runtime, call, number).then(
      () => onSettled('succeeded'),
      (error: unknown) => onSettled(`failed: ${codeOf(error)}`),
    )
    const startedAt = scheduler.now
    const limit = call.operation === 'report' ? UNLIMITED_MS : LIMIT_MS[call.action]
    scheduler.schedule(limit, () => {
      if (isSettled || !process.isAlive) return
      this.parts.check(() => {
        throw new Violation(
          'hangs',
          `${call.action} ${number} of ${process.name} has not ended in ${scheduler.now - startedAt} ms`,
        )
      })
    })
  }

  private async act(
    process: Process,
    runtime: Holdfast,
    call: PlannedCall,
    number: number,
  ): Promise<unknown> {
    const { deadLetters, breakers } = runtime
    const by = { by: process.name }
    switch (call.action) {
      case 'run':
        return this.run(process, runtime, call, number)
      case 'enqueue': {
        const { request, payload } = this.planEnqueue(process, call, number)
        const { dlqId } = await deadLetters.enqueue({ ...request, payload, error: new Error('down') })
        return this.checkAlive(process, () => {
          const queue = this.parts.queueOf(process)
          queue.onAcknowledged(dlqId, payload)
          if (queue.hasFallbackId?.(dlqId) === true)
            this.lastInFallback = { node: nodeOf(process), queue, request }
        })
      }
      case 'replay': {
        const id = this.pickEntry(process, call.target)
        if (id === undefined) return this.skipIdle()
        this.handlerAttempts.set(call.operation, call.attempts[0] as PlannedAttempt)
        return deadLetters.replay(id, { ...by, waitForBreaker: call.target > 0.5 })
      }
      case 'replayBatch':
        return deadLetters.replayBatch({
          operation: call.operation,
          retryFailed: call.retryFailed ?? false,
          ...by,
        })
      case 'complete': {
        const id = this.pickEntry(process, call.target)
        return id === undefined ? this.skipIdle() : deadLetters.complete(id, by)
      }
      case 'request': {
        // Only the worker of this node can replay the entry.
        const payload = { number, text: `requested ${number}` }
        const item = { operation: ownOperation(process), itemId: `item-${number}`, payload }
        const { dlqId } = await deadLetters.enqueue({ ...item, error: new Error('down') })
        return runtime.store.deadLetters.request(dlqId, new Date(process.clock.wall()))
      }
      case 'trip':
        if (call.member === undefined) this.parts.openings.onTripped(process, call.operation)
        else this.parts.pools.onTripped(process, call.member)
        return breakers.trip(breakerIdOf(call), by)
      case 'reset':
        return breakers.reset(breakerIdOf(call), by)
      case 'member':
        return this.changeMember(process, runtime, call)
    }
  }

  private async changeMember(
    process: Process,
    runtime: Holdfast,
    { change = 'restore', member: planned }: PlannedCall,
  ): Promise<void> {
    const member = planned ?? (this.parts.pools.runningMember(process) as MemberId | undefined) ?? MEMBERS[0]
    const { onAcknowledged, onFailed } = this.parts.memberChanges.onStarted(process, runtime, change, member)
    try {
      await changeMember(runtime, change, member, { by: process.name })
    } catch (error) {
      onFailed()
      throw error
    }
    this.checkAlive(process, onAcknowledged)
  }

  /** A new item, or the last one of the node: a caller repeats a request that failed or whose process died. */
  private planEnqueue(process: Process, { operation, target }: PlannedCall, number: number): PlannedEnqueue {
    const node = nodeOf(process)
    const kept = this.lastInFallback
    const canConflict = kept !== undefined && kept.node !== node && kept.queue === this.parts.queueOf(process)
    if (canConflict && (target * 1000) % 1 < CONFLICTING_SHARE) {
      this.lastInFallback = undefined
      return { request: kept.request, payload: { number, text: `conflicting ${number}` } }
    }
    // Another node with the same store can repeat it, too, while the first one still has it in its disk fallback.
    const owner = target < REPEATED_ELSEWHERE_SHARE ? this.parts.queueOf(process) : node
    const last = this.lastEnqueues.get(owner)
    if (last !== undefined && target < REPEATED_SHARE) return last
    const request = { operation, itemId: `item-${number}`, idempotencyKey: `key-${number}` }
    const planned = { request, payload: { number, text: `enqueued ${number}` } }
    this.lastEnqueues.set(node, planned).set(this.parts.queueOf(process), planned)
    return planned
  }

  private async run(process: Process, runtime: Holdfast, call: PlannedCall, number: number): Promise<void> {
    const { operation, attempts } = call
    const { upstreams } = this.parts
    const payload = { number, text: `payload ${number}` }
    const itemId = `item-${number}`
    const planned = this.records.get(process)?.signals.plan(call.target)
    const { controller, abortAfterMs } = planned ?? {}
    if (abortAfterMs !== undefined)
      this.parts.scheduler.schedule(abortAfterMs, () => {
        if (process.isAlive) controller?.abort(new Error('aborted by its caller'))
      })
    const { clock } = process
    const name = `run ${number} of ${process.name}`
    const model = new CallModel(name, limitsOf(operation), clock.now(), controller?.signal)
    const fallback = planFallback(call.target)
    let wasServed = false
    try {
      const value = await runtime.run(
        operation,
        (attempt) => {
          const next = attempts[Math.min(attempt.number, attempts.length) - 1] as PlannedAttempt
          let started: ReturnType<CallModel['onAttemptStarted']> | undefined
          this.checkAlive(process, () => {
            started = model.onAttemptStarted(attempt.number, attempt.signal, clock.now())
          })
          const onObserved = this.observeAttempt(process, operation)
          const onPoolEnd = this.observeMember(process, attempt, next)
          const onEnd = (end: AttemptEnd) => {
            onPoolEnd(end)
            onObserved(end)
            this.checkAlive(process, () => {
              if (started !== undefined) model.onAttemptEnded(started, end !== 'succeeded', clock.now())
            })
          }
          const result = model.valueOf(attempt.number)
          const service = (attempt.member?.id ?? operation) as Operation
          return upstreams.attempt(clock, service, next, attempt.signal, onEnd, result)
        },
        {
          payload,
          itemId,
          idempotencyKey: `key-${number}`,
          signal: controller?.signal,
          ...(operation === POOL_OPERATION && { pool: POOL }),
          ...(fallback !== undefined && {
            fallback: async () => {
              this.checkAlive(process, () => model.onFallback())
              await new Promise<void>((resolve) => clock.setTimer(() => resolve(), fallback.ms))
              const value = `the fallback of ${name}`
              wasServed = !fallback.fails
              const end = wasServed ? { value } : { error: new Error(value) }
              model.onFallbackEnded(end)
              if (end.error !== undefined) throw end.error
              return value
            },
          }),
        },
      )
      this.checkAlive(process, () => model.onSucceeded(value))
      if (wasServed) {
        // The runtime counts it as a failure, too.
        this.counts.failed++
        return this.checkAlive(process, () => {
          const id = runtime.deadLetters.capturedIdOf(payload)
          if (id !== undefined)
            throw new Violation('calls', `${name} was served by its fallback, and stored as ${id}`)
        })
      }
      this.counts.succeeded++
      this.records.countSuccess(process)
    } catch (error) {
      this.counts.failed++
      this.checkAlive(process, () => model.onFailed(error))
      const id = runtime.deadLetters.capturedIdOf(payload)
      this.checkAlive(process, () => {
        if (controller?.signal.aborted) return
        if (id !== undefined) this.parts.queueOf(process).onAcknowledged(id, payload)
        else if (
          !this.records.get(process)?.itemsNotStored.has(itemId) &&
          !isHoldfastError(error, 'CANCELLED')
        )
          throw new Violation(
            'lost',
            `run ${number} of ${process.name} failed without a dead letter and without a report: ${codeOf(error)}`,
          )
      })
      throw error
    }
  }

  /** Replays an entry in a process. */
  private async handle(
    process: Process,
    operation: Operation,
    id: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { upstreams, trace } = this.parts
    const queue = this.parts.queueOf(process)
    this.counts.handlers++
    trace(process.name, `handler ${id}`)
    let run: ReturnType<QueueModel['onHandlerStarted']> | undefined
    this.checkAlive(process, () => {
      run = queue.onHandlerStarted(id, process.name)
    })
    const attempt = { ...(this.handlerAttempts.get(operation) ?? DEFAULT_ATTEMPT), ignoresSignal: false }
    this.handlerAttempts.delete(operation)
    const record = this.records.get(process)
    if (record !== undefined) record.activeCount++
    const onEnd = this.observeAttempt(process, operation)
    return upstreams.attempt(process.clock, operation, attempt, signal, (end) => {
      const failed = end !== 'succeeded'
      onEnd(end)
      if (run !== undefined && process.isAlive) queue.onHandlerEnded(run, failed)
      if (record !== undefined) record.activeCount--
      if (!failed) this.records.countSuccess(process)
    })
  }

  /** Returns a function that reports the end of an attempt that begins now. */
  private observeAttempt(process: Process, operation: Operation): (end: AttemptEnd) => void {
    const { scheduler, openings, permits } = this.parts
    const startedAt = scheduler.now
    permits.onAttempt(process, operation, 1)
    return (end) => {
      permits.onAttempt(process, operation, -1)
      if (end !== 'succeeded') openings.onAttemptFailed(process, operation, startedAt)
    }
  }

  /** Returns a function that reports the end of an attempt through a member of the pool that begins now. */
  private observeMember(
    process: Process,
    { member, signal }: { readonly member?: { readonly id: string }; readonly signal: AbortSignal },
    { limitMs }: PlannedAttempt,
  ): (end: AttemptEnd) => void {
    if (member === undefined) return () => {}
    const { pools } = this.parts
    let attempt: PoolAttempt | undefined
    this.checkAlive(process, () => {
      attempt = pools.onAttemptStarted(process, member.id)
    })
    const onEnd = (end: AttemptEnd) => {
      if (attempt !== undefined) pools.onAttemptEnded(attempt, end, limitMs)
    }
    // The outcome of an attempt that is aborted is recorded at once, even if its code continues.
    signal.addEventListener('abort', () => onEnd('failed'), { once: true })
    return onEnd
  }

  /** Runs a check, unless the process has died: its code that still runs has no meaning. */
  private checkAlive(process: Process, fn: () => void): void {
    if (process.isAlive) this.parts.check(fn)
  }

  private skipIdle(): void {
    this.counts.idle++
  }

  private pickEntry(process: Process, target: number): string | undefined {
    const { entries, fallbackIds = [] } = this.parts.queueOf(process)
    const ids = [...entries.keys(), ...fallbackIds]
    return ids[Math.floor(target * ids.length)]
  }
}

const nodeOf = ({ name }: Process): string => name.split('.')[0] as string

/** An operation whose entries only this node can replay. It has no policy of its own. */
const ownOperation = (process: Process): Operation => `only-${nodeOf(process)}` as Operation

/** The breaker of a service, or of a member of the pool. */
const breakerIdOf = ({ operation, member }: PlannedCall): string =>
  member === undefined ? `service:${operation}` : `pool:${POOL}:${member}`

/** The limits of the policy of an operation. */
const limitsOf = (operation: Operation): CallLimits => POLICY_LIMITS[operation]

const codeOf = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return String(code ?? message)
}
