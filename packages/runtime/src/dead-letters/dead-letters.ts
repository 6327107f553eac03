import { setMaxListeners } from 'node:events'
import { type Attempt, HoldfastError } from 'holdfast'
import type { Run } from '../face.js'
import type { Actor, Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import { SteadyTime } from '../steady.js'
import type { DeadLetterFilter, DeadLetterStats, Page } from '../store/store.js'
import { Batch, type BatchOptions, type BatchResult } from './batch.js'
import type { DeadLetterInput } from './entry.js'
import { checkList, checkPurge, type PurgeFilter } from './filter.js'
import { type DeadLetterHandler, Handlers, type Replayer } from './handlers.js'
import { type FailedCall, Keeper } from './keeper.js'
import { Limits } from './limits.js'
import type { DeadLetterOptions } from './options.js'
import { Owners, Replays } from './replays.js'
import { type Rotation, rotate } from './rotate.js'
import { missing, replayOne } from './single.js'
import { Trail } from './trail.js'
import { Vault } from './vault.js'
import { Worker, type WorkOptions } from './worker.js'

/** What the queue is made of besides the kit. */
export interface DeadLetterParts {
  /** The options as they are now. */
  options(): DeadLetterOptions
  /** Runs a replay under its operation. It must not dead-letter what fails. */
  runThrough: Run
  /** The id of an operation's policy. */
  policyOf(operation: string): string
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
  private readonly running = new Set<Promise<unknown>>()
  private readonly closing = new AbortController()
  private readonly kit: Kit
  private readonly options: () => DeadLetterOptions
  private readonly vault: Vault
  private readonly limits: Limits
  private readonly keeper: Keeper
  private readonly handlers: Handlers
  private readonly replays: Replays
  private readonly owners: Owners
  private readonly trail: Trail
  private readonly steady: SteadyTime
  private readonly rotateOthers: () => Promise<Rotation>

  constructor(kit: Kit, parts: DeadLetterParts) {
    const { options, runThrough, policyOf } = parts
    this.rotateOthers = parts.rotateOthers ?? (async () => ({ rewritten: 0, unreadable: [] }))
    this.kit = kit
    this.options = options
    this.vault = new Vault(options)
    this.limits = new Limits(kit, options)
    this.keeper = new Keeper(kit, options, this.vault, this.limits, policyOf)
    this.handlers = new Handlers(() => options().handlersFile)
    this.replays = new Replays(kit, runThrough, this.vault)
    this.owners = new Owners(kit)
    this.trail = new Trail(kit)
    this.steady = new SteadyTime(kit.clock)
    setMaxListeners(0, this.closing.signal)
  }

  /** Loads the module of handlers and looks how full the queue is. @throws CONFIG_INVALID, INVALID_OPTIONS */
  async open(): Promise<void> {
    void this.vault.keys
    await this.handlers.operations()
    await this.limits.open()
  }

  /** Registers who replays an operation's entries, in place of an earlier one. @throws INVALID_OPTIONS */
  handle<P>(operation: string, handler: (payload: P, entry: DeadLetter, attempt: Attempt) => unknown): void {
    this.handlers.handle(operation, handler as DeadLetterHandler)
  }

  /** @internal The same for replays of which only a part is under the operation's guard. */
  register(operation: string, replayer: Replayer): void {
    this.handlers.register(operation, replayer)
  }

  /**
   * Keeps something that failed. Resolves when it is flushed. The same `idempotencyKey` with the same payload gives the
   * entry that is there.
   *
   * @throws INVALID_OPTIONS, PAYLOAD_TOO_LARGE, IDEMPOTENCY_CONFLICT, DEAD_LETTERS_FULL, STORE_UNAVAILABLE
   */
  enqueue(input: DeadLetterInput): Promise<DeadLetter> {
    return this.keeper.enqueue(input)
  }

  /** @internal Keeps a failed call. Never rejects. */
  capture(call: FailedCall): Promise<DeadLetter | undefined> {
    return this.keeper.capture(call)
  }

  /** @internal The id of the entry that this very object was captured in as a payload. */
  idOf(payload: object): string | undefined {
    return this.keeper.idOf(payload)
  }

  /** @internal Why calls with a payload are refused: the queue is full, and `when_full` says so. */
  refuses(): HoldfastError | undefined {
    return this.limits.refuses()
  }

  /** One entry; undefined where there is none. @throws CONFIG_INVALID where the key of its payload is not at hand */
  async get(id: string): Promise<DeadLetter | undefined> {
    const entry = await this.kit.store.deadLetters.get(id, this.replays.now())
    return entry && this.vault.open(entry)
  }

  /** Entries, oldest first unless asked otherwise. A payload whose key is not at hand is `{ unreadable: why }`. */
  async list(filter: DeadLetterFilter = {}): Promise<Page<DeadLetter>> {
    checkList(filter)
    const page = await this.kit.store.deadLetters.list(filter, this.replays.now())
    return { ...page, items: page.items.map((entry) => this.vault.show(entry)) }
  }

  /**
   * Replays one entry now, pending or failed, and gives it as it is afterwards: `completed`, or `failed` with its history
   * grown. A completed one is given as it is. Where no handler is at hand, the request is noted for `work()` elsewhere.
   *
   * @throws DEAD_LETTER_NOT_FOUND, DEAD_LETTER_LEASED while somebody else replays it, CANCELLED by `close`
   */
  replay(id: string, actor?: Actor): Promise<DeadLetter> {
    return this.track(() => replayOne(this.parts(), id, actor))
  }

  /**
   * Replays what waits, oldest first, paced, until an operation's breaker opens. Entries whose handlers are elsewhere are
   * requested from there and count as skipped.
   *
   * @throws INVALID_OPTIONS, STORE_UNAVAILABLE
   */
  replayBatch(options: BatchOptions & Actor = {}, actor: Actor = options): Promise<BatchResult> {
    return this.track(async () => {
      const result = await new Batch(this.parts(), options).run()
      await this.trail.note(actor, 'dead_letter.replay', options.operation ?? '*', { after: result })
      await this.limits.changed(result.succeeded)
      return result
    })
  }

  /**
   * Serves requests to replay that were made in other processes, until the signal is aborted or the runtime closes.
   *
   * @throws INVALID_OPTIONS
   */
  work(options: WorkOptions = {}): Promise<void> {
    return this.track(() => new Worker(this.parts(), options).run())
  }

  private parts() {
    const { handlers, kit, limits, owners, replays, trail, vault } = this
    const completed = () => limits.changed(1)
    return { kit, handlers, replays, owners, trail, vault, closing: this.closing.signal, completed }
  }

  /** Marks an entry complete without a replay: the work was done by other means. @throws DEAD_LETTER_NOT_FOUND */
  async complete(id: string, actor?: Actor): Promise<DeadLetter> {
    const { deadLetters } = this.kit.store
    const before = await deadLetters.get(id, this.replays.now())
    const entry = await deadLetters.complete(id, this.replays.now())
    if (entry === undefined) throw missing(id)
    if (before?.status !== 'completed') {
      await this.trail.note(actor, 'dead_letter.complete', id, {
        before: before?.status,
        after: entry.status,
      })
      await this.limits.changed(1)
    }
    return this.vault.show(entry)
  }

  /** Whether an entry was ever completed, though it may be purged since. */
  isProcessed(id: string): Promise<boolean> {
    return this.kit.store.deadLetters.isProcessed(id)
  }

  /** Deletes entries that fit, but for those being replayed. Tells how many. `{}` is all. @throws INVALID_OPTIONS */
  async purge(filter: PurgeFilter & Actor, actor: Actor = filter): Promise<number> {
    checkPurge(filter)
    const { by: _by, reason: _reason, ...wanted } = filter
    const purged = await this.kit.store.deadLetters.purge(wanted, this.replays.now())
    const target = filter.ids?.length === 1 ? String(filter.ids[0]) : (filter.operation ?? '*')
    await this.trail.note(actor, 'dead_letter.purge', target, { before: wanted, after: { purged } })
    await this.limits.look()
    return purged
  }

  /** How many entries there are, by status and operation, and how old the oldest one is that waits. */
  stats(): Promise<DeadLetterStats> {
    return this.kit.store.deadLetters.stats(this.replays.now())
  }

  /** @internal Lets go of entries older than `max_age`. Tells how many. */
  async expire(): Promise<number> {
    const { maxAge } = this.options()
    if (!Number.isFinite(maxAge)) return 0
    const now = this.replays.now()
    const to = new Date(this.steady.wall() - maxAge)
    const purged = await this.kit.store.deadLetters.purge({ to }, now)
    if (purged > 0) {
      this.kit.logger.warn({ purged, maxAge }, 'dead letters were let go of because of their age')
      await this.limits.look()
    }
    return purged
  }

  /**
   * Encrypts every payload with the newest key, and the credentials of members that were added through the API; with no key,
   * stores them as they are.
   */
  rotate(): Promise<Rotation> {
    return this.track(async () => {
      const payloads = await rotate(this.kit.store.deadLetters, this.vault, () => this.replays.now())
      const others = await this.rotateOthers()
      return {
        rewritten: payloads.rewritten + others.rewritten,
        unreadable: [...payloads.unreadable, ...others.unreadable],
      }
    })
  }

  /** Begins nothing more, and resolves when what was under way has ended. */
  async close(): Promise<void> {
    this.closing.abort()
    this.limits.close()
    await Promise.allSettled(this.running)
  }

  private async track<T>(begin: () => Promise<T>): Promise<T> {
    if (this.closing.signal.aborted)
      throw new HoldfastError('CANCELLED', 'the runtime is closed: nothing is replayed')
    const work = begin()
    this.running.add(work)
    try {
      return await work
    } finally {
      this.running.delete(work)
    }
  }
}
