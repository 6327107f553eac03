import { setMaxListeners } from 'node:events'
import type { Actor, DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import { type DeadLetter, errorMessageOf } from '@holdfast/records'
import type { DeadLetterStats, Page } from '@holdfast/store'
import { type Attempt, HoldfastError } from 'holdfast'
import type { Run } from '../api-types.js'
import type { OperationName } from '../operations.js'
import { BestEffortAudit } from './best-effort-audit.js'
import { CapacityMonitor } from './capacity-monitor.js'
import { editPayload } from './edit.js'
import type { DeadLetterInput } from './entry.js'
import {
  checkListFilter,
  checkPurgeFilter,
  checkSelection,
  type DeadLetterCount,
  type DeadLetterListFilter,
  type DeadLetterSelection,
} from './filter.js'
import { type DeadLetterHandler, HandlerRegistry, type ReplayFunction } from './handlers.js'
import { PayloadCipher } from './payload-cipher.js'
import { type BatchOptions, type BatchResult, ReplayBatch } from './replay-batch.js'
import { LeaseOwnerIds, ReplayExecutor } from './replay-executor.js'
import { createNotFoundError, type ReplayOptions, replayOne } from './replay-one.js'
import { ReplayWorker, type WorkOptions } from './replay-worker.js'
import { DeadLetterRetention } from './retention.js'
import { type Rotation, rotateKeys } from './rotate-keys.js'
import { searchPage } from './search.js'
import { countEntries, selectEntries } from './selection.js'
import { DeadLetterWriter, type FailedCall } from './writer.js'

/** How many entries with a text are purged at a time. */
const PURGE_BATCH_SIZE = 500

const isWithoutFilter = (selection: object): boolean =>
  Object.values(selection).every((value) => value === undefined)

/** The dependencies of the queue besides the context. */
export interface DeadLetterDependencies {
  /** The current options. */
  options(): DeadLetterOptions
  /** Runs a replay under its operation. A failed replay must not create another dead letter. */
  runOperation: Run
  /** The id of an operation's policy. */
  policyIdOf(operation: string): string
  /** Calls the listener when a breaker closes, until the returned function is called. */
  onBreakerClosed?(listener: () => void): () => void
  /** Encrypts the other data that uses these keys with the newest key. */
  rotateOthers?(): Promise<Rotation>
  /** The process id in the names of lease holders. @defaultValue that of the operating system */
  pid?: number
}

/**
 * Failed calls, stored with their payload until they are replayed. An entry is on disk before the caller gets the error, it
 * is recorded as completed only once, and after a crash its handler may run again with the same `idempotencyKey`.
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
  private readonly retention: DeadLetterRetention
  private readonly rotateOthers: () => Promise<Rotation>
  private readonly onBreakerClosed: DeadLetterDependencies['onBreakerClosed']
  private isServingRequests = false

  constructor(runtime: RuntimeContext, parts: DeadLetterDependencies) {
    const { options, runOperation, policyIdOf } = parts
    this.onBreakerClosed = parts.onBreakerClosed
    this.rotateOthers = parts.rotateOthers ?? (async () => ({ rewritten: 0, unreadable: [] }))
    this.runtime = runtime
    this.options = options
    this.payloadCipher = new PayloadCipher(options)
    this.capacityMonitor = new CapacityMonitor(runtime, options)
    this.writer = new DeadLetterWriter(runtime, options, this.payloadCipher, this.capacityMonitor, policyIdOf)
    this.handlers = new HandlerRegistry(() => options().handlersFile)
    this.replayExecutor = new ReplayExecutor(
      runtime,
      runOperation,
      this.payloadCipher,
      this.closeController.signal,
    )
    this.leaseOwners = new LeaseOwnerIds(runtime, parts.pid ?? process.pid)
    this.audit = new BestEffortAudit(runtime)
    this.retention = new DeadLetterRetention(runtime, options, this.closeController.signal)
    setMaxListeners(0, this.closeController.signal)
  }

  /** Loads the handlers module and counts the entries. @throws CONFIG_INVALID, INVALID_OPTIONS */
  async open(): Promise<void> {
    void this.payloadCipher.keyRing
    await this.handlers.operations()
    await this.capacityMonitor.open()
  }

  /** Registers the handler that replays an operation's entries. It replaces an earlier one. @throws INVALID_OPTIONS */
  handle<P>(
    operation: OperationName,
    handler: (payload: P, entry: DeadLetter, attempt: Attempt) => unknown,
  ): void {
    this.handlers.handle(operation, handler as DeadLetterHandler)
  }

  /** @internal The same for a replay of which only a part runs under the operation's guard. */
  register(operation: string, replayer: ReplayFunction): void {
    this.handlers.register(operation, replayer)
  }

  /**
   * Stores a failed item. Resolves when it is flushed. The same `idempotencyKey` with the same payload returns the existing
   * entry.
   *
   * @throws INVALID_OPTIONS, PAYLOAD_TOO_LARGE, IDEMPOTENCY_CONFLICT, DEAD_LETTERS_FULL, STORE_UNAVAILABLE
   */
  enqueue(input: DeadLetterInput): Promise<DeadLetter> {
    return this.writer.enqueue(input)
  }

  /** @internal Stores a failed call. Never rejects. */
  capture(call: FailedCall): Promise<DeadLetter | undefined> {
    return this.writer.capture(call)
  }

  /** @internal The id of the entry whose payload is this object. */
  capturedIdOf(payload: object): string | undefined {
    return this.writer.capturedIdOf(payload)
  }

  /** @internal The error for calls with a payload while the queue is full and `when_full` rejects them. */
  rejectionIfFull(): HoldfastError | undefined {
    return this.capacityMonitor.rejectionIfFull()
  }

  /**
   * Returns one entry; undefined if it does not exist. @throws CONFIG_INVALID if the key of its payload is not
   * configured
   */
  async get(id: string): Promise<DeadLetter | undefined> {
    const entry = await this.runtime.store.deadLetters.get(id, this.replayExecutor.now())
    return entry && this.payloadCipher.decryptEntry(entry)
  }

  /** Lists entries, by default oldest first. A payload whose key is not configured is `{ unreadable: reason }`. */
  async list(filter: DeadLetterListFilter = {}): Promise<Page<DeadLetter>> {
    checkListFilter(filter)
    const { search, ...indexed } = filter
    const { deadLetters } = this.runtime.store
    const now = this.replayExecutor.now()
    const page =
      search === undefined
        ? await deadLetters.list(indexed, now)
        : await searchPage(deadLetters, this.payloadCipher, indexed, search, now)
    return { ...page, items: page.items.map((entry) => this.payloadCipher.decryptForList(entry)) }
  }

  /** Counts the entries that a list, a replay or a purge with the same selection finds. @throws INVALID_OPTIONS */
  async count(selection: DeadLetterSelection = {}): Promise<DeadLetterCount> {
    checkSelection(selection)
    const at = this.replayExecutor.now()
    const byStatus = await countEntries(this.runtime.store.deadLetters, this.payloadCipher, selection, at)
    return { total: Object.values(byStatus).reduce((sum, count) => sum + count, 0), byStatus, at }
  }

  /**
   * Replaces the payload that replays of an entry use. The original payload stays beside it; a payload that equals the original
   * one removes the edited one.
   *
   * @throws DEAD_LETTER_NOT_FOUND, DEAD_LETTER_LEASED while it is being replayed, PAYLOAD_TOO_LARGE, and INVALID_OPTIONS for a
   * payload that is not JSON or an entry that is completed
   */
  edit(id: string, payload: unknown, actor?: Actor): Promise<DeadLetter> {
    const { runtime, payloadCipher, audit } = this
    const { maxPayload } = this.options()
    const now = this.replayExecutor.now()
    return editPayload({ runtime, payloadCipher, audit, maxPayload, now }, id, payload, actor)
  }

  /**
   * Replays one pending or failed entry now, and returns it afterwards: `completed`, or `failed` with a longer history. A
   * completed entry is returned unchanged. If this process has no handler, the request is stored for `work()` in another
   * process.
   *
   * @throws DEAD_LETTER_NOT_FOUND, DEAD_LETTER_LEASED while another process replays it, CANCELLED by `close`
   */
  replay(id: string, actor?: Actor & ReplayOptions): Promise<DeadLetter> {
    const { waitForBreaker, ...by } = actor ?? {}
    return this.trackWork(() => replayOne(this.parts(), id, actor && by, { waitForBreaker }))
  }

  /**
   * Replays the selected entries that are waiting, oldest first and paced, until an operation's breaker opens. Entries whose handlers are in
   * other processes are requested from there and count as skipped.
   *
   * @throws INVALID_OPTIONS, STORE_UNAVAILABLE
   */
  replayBatch(options: BatchOptions & Actor = {}, actor: Actor = options): Promise<BatchResult> {
    return this.trackWork(async () => {
      const result = await new ReplayBatch(this.parts(), options).run()
      const { operation, status, itemId, from, to, search, ids } = options
      const selection = { operation, status, itemId, from, to, search, ids: ids?.length }
      await this.audit.record(actor, 'dead_letter.replay', operation ?? '*', {
        ...(isWithoutFilter({ ...selection, operation: undefined }) ? {} : { before: selection }),
        after: result,
      })
      await this.capacityMonitor.onChanged(result.succeeded)
      return result
    })
  }

  /**
   * Serves replay requests of other processes, until the signal is aborted or the runtime closes.
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
      serveRequests: () => this.serveRequests(),
      runtime,
      handlers,
      replayExecutor,
      leaseOwners,
      audit,
      payloadCipher,
      closeSignal: this.closeController.signal,
      onBreakerClosed: this.onBreakerClosed,
      onCompleted,
    }
  }

  /** Starts a worker for requests that wait until their operation is available. It runs until the queue closes. */
  private serveRequests(): void {
    if (this.isServingRequests) return
    this.isServingRequests = true
    this.work().catch((error: unknown) => {
      this.isServingRequests = false
      if (!this.closeController.signal.aborted)
        this.runtime.warn(`replay requests are not served: ${errorMessageOf(error)}`)
    })
  }

  /**
   * Marks an entry as completed without a replay, because the work was done by other means. @throws DEAD_LETTER_NOT_FOUND
   */
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

  /** Whether an entry was completed, even if it has been deleted since: for `max_age` and 30 days after its completion. */
  isProcessed(id: string): Promise<boolean> {
    return this.runtime.store.deadLetters.isProcessed(id)
  }

  /**
   * Deletes the matching entries, except those that are being replayed, and returns their number. `{}` matches all. @throws
   * INVALID_OPTIONS
   */
  async purge(filter: DeadLetterSelection & Actor, actor: Actor = filter): Promise<number> {
    checkPurgeFilter(filter)
    const { by: _by, reason: _reason, ...wanted } = filter
    const purged = await this.purgeSelected(wanted)
    const target = filter.ids?.length === 1 ? String(filter.ids[0]) : (filter.operation ?? '*')
    await this.audit.record(actor, 'dead_letter.purge', target, { before: wanted, after: { purged } })
    await this.capacityMonitor.refresh()
    return purged
  }

  private async purgeSelected(wanted: DeadLetterSelection): Promise<number> {
    const { deadLetters } = this.runtime.store
    const now = this.replayExecutor.now()
    const { search, ...indexed } = wanted
    if (search === undefined) return deadLetters.purge(indexed, now)
    const ids: string[] = []
    for await (const { dlqId } of selectEntries(deadLetters, this.payloadCipher, wanted, now)) ids.push(dlqId)
    let purged = 0
    for (let start = 0; start < ids.length; start += PURGE_BATCH_SIZE)
      // The other fields are checked again, because an entry can have changed meanwhile.
      purged += await deadLetters.purge({ ...indexed, ids: ids.slice(start, start + PURGE_BATCH_SIZE) }, now)
    return purged
  }

  /** The number of entries by status and operation, and the age of the oldest waiting one. */
  stats(): Promise<DeadLetterStats> {
    return this.runtime.store.deadLetters.stats(this.replayExecutor.now())
  }

  /** @internal Deletes entries that are too old, and completed ones that are too many. Returns their number. */
  async expire(): Promise<number> {
    const purged = await this.retention.enforce(this.replayExecutor.now())
    if (purged > 0) await this.capacityMonitor.refresh()
    return purged
  }

  /**
   * Encrypts every payload, and the credentials of members that were added through the API, with the newest key. Without a
   * key they are stored unencrypted.
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

  /** Starts no more replays, and resolves when the active ones have ended. */
  async close(): Promise<void> {
    this.closeController.abort()
    this.capacityMonitor.close()
    await Promise.allSettled(this.pending)
  }

  private async trackWork<T>(begin: () => Promise<T>): Promise<T> {
    if (this.closeController.signal.aborted)
      throw new HoldfastError('CANCELLED', 'the runtime is closed: the entry was not replayed')
    const work = begin()
    this.pending.add(work)
    try {
      return await work
    } finally {
      this.pending.delete(work)
    }
  }
}
