import { setMaxListeners } from 'node:events'
import type { Actor, DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import { type DeadLetter, RetentionClock } from '@holdfast/records'
import type { DeadLetterFilter, DeadLetterStats, Page } from '@holdfast/store'
import { type Attempt, HoldfastError } from 'holdfast'
import type { Run } from '../api-types.js'
import { BestEffortAudit } from './best-effort-audit.js'
import { CapacityMonitor } from './capacity-monitor.js'
import type { DeadLetterInput } from './entry.js'
import { checkListFilter, checkPurgeFilter, type PurgeFilter } from './filter.js'
import { type DeadLetterHandler, HandlerRegistry, type ReplayFunction } from './handlers.js'
import { PayloadCipher } from './payload-cipher.js'
import { type BatchOptions, type BatchResult, ReplayBatch } from './replay-batch.js'
import { LeaseOwnerIds, ReplayExecutor } from './replay-executor.js'
import { createNotFoundError, replayOne } from './replay-one.js'
import { ReplayWorker, type WorkOptions } from './replay-worker.js'
import { type Rotation, rotateKeys } from './rotate-keys.js'
import { DeadLetterWriter, type FailedCall } from './writer.js'

/** What the queue is made of besides the kit. */
export interface DeadLetterDependencies {
  /** The options as they are now. */
  options(): DeadLetterOptions
  /** Runs a replay under its operation. It must not dead-letter what fails. */
  runOperation: Run
  /** The id of an operation's policy. */
  policyIdOf(operation: string): string
  /** Puts what else is encrypted with these keys under the newest one. */
  rotateOthers?(): Promise<Rotation>
}

/**
 * What failed for good, kept with its payload until it is replayed. An entry is on disk before the caller sees its error; it is
 * never recorded complete twice; and its handler may be called again after a crash, with the same `idempotencyKey`.
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 *
 * const hf = await Holdfast.open()
 * hf.deadLetters.handle('greet', (name: string, { idempotencyKey }) => `${name} ${idempotencyKey}`)
 * const { dlqId } = await hf.deadLetters.enqueue({ operation: 'greet', itemId: '1', payload: 'Ada', error: new Error('down') })
 * const replayed = await hf.deadLetters.replay(dlqId)
 * replayed.status // => 'completed'
 * await hf.deadLetters.isProcessed(dlqId) // => true
 * await hf.close()
 * ```
 */
export class DeadLetters {
  private readonly pending = new Set<Promise<unknown>>()
  private readonly closeController = new AbortController()
  private readonly runtime: RuntimeContext
  private readonly options: () => DeadLetterOptions
  private readonly payloadCipher: PayloadCipher
  private readonly capacityMonitor: CapacityMonitor
  private readonly writer: DeadLetterWriter
  private readonly handlers: HandlerRegistry
  private readonly replayExecutor: ReplayExecutor
  private readonly leaseOwners: LeaseOwnerIds
  private readonly audit: BestEffortAudit
  private readonly retentionClock: RetentionClock
  private readonly rotateOthers: () => Promise<Rotation>

  constructor(runtime: RuntimeContext, parts: DeadLetterDependencies) {
    const { options, runOperation, policyIdOf } = parts
    this.rotateOthers = parts.rotateOthers ?? (async () => ({ rewritten: 0, unreadable: [] }))
    this.runtime = runtime
    this.options = options
    this.payloadCipher = new PayloadCipher(options)
    this.capacityMonitor = new CapacityMonitor(runtime, options)
    this.writer = new DeadLetterWriter(runtime, options, this.payloadCipher, this.capacityMonitor, policyIdOf)
    this.handlers = new HandlerRegistry(() => options().handlersFile)
    this.replayExecutor = new ReplayExecutor(runtime, runOperation, this.payloadCipher)
    this.leaseOwners = new LeaseOwnerIds(runtime)
    this.audit = new BestEffortAudit(runtime)
    this.retentionClock = new RetentionClock(runtime.clock)
    setMaxListeners(0, this.closeController.signal)
  }

  /** Loads the module of handlers and looks how full the queue is. @throws CONFIG_INVALID, INVALID_OPTIONS */
  async open(): Promise<void> {
    void this.payloadCipher.keyRing
    await this.handlers.operations()
    await this.capacityMonitor.open()
  }

  /** Registers who replays an operation's entries, in place of an earlier one. @throws INVALID_OPTIONS */
  handle<P>(operation: string, handler: (payload: P, entry: DeadLetter, attempt: Attempt) => unknown): void {
    this.handlers.handle(operation, handler as DeadLetterHandler)
  }

  /** @internal The same for replays of which only a part is under the operation's guard. */
  register(operation: string, replayer: ReplayFunction): void {
    this.handlers.register(operation, replayer)
  }

  /**
   * Keeps something that failed. Resolves when it is flushed. The same `idempotencyKey` with the same payload gives the
   * entry that is there.
   *
   * @throws INVALID_OPTIONS, PAYLOAD_TOO_LARGE, IDEMPOTENCY_CONFLICT, DEAD_LETTERS_FULL, STORE_UNAVAILABLE
   */
  enqueue(input: DeadLetterInput): Promise<DeadLetter> {
    return this.writer.enqueue(input)
  }

  /** @internal Keeps a failed call. Never rejects. */
  capture(call: FailedCall): Promise<DeadLetter | undefined> {
    return this.writer.capture(call)
  }

  /** @internal The id of the entry that this very object was captured in as a payload. */
  capturedIdOf(payload: object): string | undefined {
    return this.writer.capturedIdOf(payload)
  }

  /** @internal Why calls with a payload are refused: the queue is full, and `when_full` says so. */
  rejectionIfFull(): HoldfastError | undefined {
    return this.capacityMonitor.rejectionIfFull()
  }

  /** One entry; undefined where there is none. @throws CONFIG_INVALID where the key of its payload is not at hand */
  async get(id: string): Promise<DeadLetter | undefined> {
    const entry = await this.runtime.store.deadLetters.get(id, this.replayExecutor.now())
    return entry && this.payloadCipher.decryptEntry(entry)
  }

  /** Entries, oldest first unless asked otherwise. A payload whose key is not at hand is `{ unreadable: why }`. */
  async list(filter: DeadLetterFilter = {}): Promise<Page<DeadLetter>> {
    checkListFilter(filter)
    const page = await this.runtime.store.deadLetters.list(filter, this.replayExecutor.now())
    return { ...page, items: page.items.map((entry) => this.payloadCipher.decryptForList(entry)) }
  }

  /**
   * Replays one entry now, pending or failed, and gives it as it is afterwards: `onCompleted`, or `failed` with its history
   * grown. A completed one is given as it is. Where no handler is at hand, the request is noted for `work()` elsewhere.
   *
   * @throws DEAD_LETTER_NOT_FOUND, DEAD_LETTER_LEASED while somebody else replays it, CANCELLED by `close`
   */
  replay(id: string, actor?: Actor): Promise<DeadLetter> {
    return this.trackWork(() => replayOne(this.parts(), id, actor))
  }

  /**
   * Replays what waits, oldest first, paced, until an operation's breaker opens. Entries whose handlers are elsewhere are
   * requested from there and count as skipped.
   *
   * @throws INVALID_OPTIONS, STORE_UNAVAILABLE
   */
  replayBatch(options: BatchOptions & Actor = {}, actor: Actor = options): Promise<BatchResult> {
    return this.trackWork(async () => {
      const result = await new ReplayBatch(this.parts(), options).run()
      await this.audit.record(actor, 'dead_letter.replay', options.operation ?? '*', { after: result })
      await this.capacityMonitor.onChanged(result.succeeded)
      return result
    })
  }

  /**
   * Serves requests to replay that were made in other processes, until the signal is aborted or the runtime closes.
   *
   * @throws INVALID_OPTIONS
   */
  work(options: WorkOptions = {}): Promise<void> {
    return this.trackWork(() => new ReplayWorker(this.parts(), options).run())
  }

  private parts() {
    const { handlers, runtime, capacityMonitor, leaseOwners, replayExecutor, audit, payloadCipher } = this
    const onCompleted = () => capacityMonitor.onChanged(1)
    return {
      runtime,
      handlers,
      replayExecutor,
      leaseOwners,
      audit,
      payloadCipher,
      closeSignal: this.closeController.signal,
      onCompleted,
    }
  }

  /** Marks an entry complete without a replay: the work was done by other means. @throws DEAD_LETTER_NOT_FOUND */
  async complete(id: string, actor?: Actor): Promise<DeadLetter> {
    const { deadLetters } = this.runtime.store
    const before = await deadLetters.get(id, this.replayExecutor.now())
    const entry = await deadLetters.complete(id, this.replayExecutor.now())
    if (entry === undefined) throw createNotFoundError(id)
    if (before?.status !== 'completed') {
      await this.audit.record(actor, 'dead_letter.complete', id, {
        before: before?.status,
        after: entry.status,
      })
      await this.capacityMonitor.onChanged(1)
    }
    return this.payloadCipher.decryptForList(entry)
  }

  /** Whether an entry was ever completed, though it may be purged since. */
  isProcessed(id: string): Promise<boolean> {
    return this.runtime.store.deadLetters.isProcessed(id)
  }

  /** Deletes entries that fit, but for those being replayed. Tells how many. `{}` is all. @throws INVALID_OPTIONS */
  async purge(filter: PurgeFilter & Actor, actor: Actor = filter): Promise<number> {
    checkPurgeFilter(filter)
    const { by: _by, reason: _reason, ...wanted } = filter
    const purged = await this.runtime.store.deadLetters.purge(wanted, this.replayExecutor.now())
    const target = filter.ids?.length === 1 ? String(filter.ids[0]) : (filter.operation ?? '*')
    await this.audit.record(actor, 'dead_letter.purge', target, { before: wanted, after: { purged } })
    await this.capacityMonitor.refresh()
    return purged
  }

  /** How many entries there are, by status and operation, and how old the oldest one is that waits. */
  stats(): Promise<DeadLetterStats> {
    return this.runtime.store.deadLetters.stats(this.replayExecutor.now())
  }

  /** @internal Lets go of entries older than `max_age`. Tells how many. */
  async expire(): Promise<number> {
    const { maxAge } = this.options()
    if (!Number.isFinite(maxAge)) return 0
    const now = this.replayExecutor.now()
    const to = new Date(this.retentionClock.wall() - maxAge)
    const purged = await this.runtime.store.deadLetters.purge({ to }, now)
    if (purged > 0) {
      this.runtime.logger.warn({ purged, maxAge }, 'dead letters were let go of because of their age')
      await this.capacityMonitor.refresh()
    }
    return purged
  }

  /**
   * Encrypts every payload with the newest key, and the credentials of members that were added through the API; with no key,
   * stores them as they are.
   */
  rotate(): Promise<Rotation> {
    return this.trackWork(async () => {
      const payloads = await rotateKeys(this.runtime.store.deadLetters, this.payloadCipher, () =>
        this.replayExecutor.now(),
      )
      const others = await this.rotateOthers()
      return {
        rewritten: payloads.rewritten + others.rewritten,
        unreadable: [...payloads.unreadable, ...others.unreadable],
      }
    })
  }

  /** Begins nothing more, and resolves when what was under way has ended. */
  async close(): Promise<void> {
    this.closeController.abort()
    this.capacityMonitor.close()
    await Promise.allSettled(this.pending)
  }

  private async trackWork<T>(begin: () => Promise<T>): Promise<T> {
    if (this.closeController.signal.aborted)
      throw new HoldfastError('CANCELLED', 'the runtime is closed: nothing is replayed')
    const work = begin()
    this.pending.add(work)
    try {
      return await work
    } finally {
      this.pending.delete(work)
    }
  }
}
