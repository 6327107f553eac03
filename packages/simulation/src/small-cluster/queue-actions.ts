import type { Holdfast } from '@holdfast/runtime'
import { KeyRing } from '@holdfast/store'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import { BatchModel } from './batch-model.js'
import type { HandlerEnd, LeasedRun } from './lease-model.js'
import {
  FAULTS_END_MS,
  GUARDED_OPEN_MS,
  LONGEST_HANDLER_MS,
  QUEUE_OPERATIONS,
  type QueueOperation,
  SOLE_NODE,
  SOLE_OPERATION,
  WORKER_CONCURRENCY,
  WORKER_INTERVAL_MS,
} from './settings.js'
import type { SmallCluster } from './small-cluster.js'
import { LASTING_ERROR_CODE, type StoreCall } from './store-port.js'

/** The longest time to store, edit, complete or request one item. */
const STORE_LIMIT_MS = 20_000

/** The longest time to replay one entry: its handler, the breaker that it waits for, and repeated settlements. */
const REPLAY_LIMIT_MS = LONGEST_HANDLER_MS + GUARDED_OPEN_MS + 60_000

/** A count that was requested before the queue was nearly full has ended after this time. */
const COUNT_MS = 3000

/** The longest time to encrypt all payloads again. */
const ROTATION_LIMIT_MS = 60_000

/** How long the queue is full, or is not, until calls are rejected, or are not. */
const FULL_KNOWN_MS = 10_000

const errorOf = (code: string) => Object.assign(new Error('the upstream does not respond'), { code })
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

/** The operations that have a handler in a process. */
const handledBy = ({ name }: Process): readonly QueueOperation[] =>
  name.startsWith('n0.')
    ? ['fast']
    : name.startsWith(`${SOLE_NODE}.`)
      ? [...QUEUE_OPERATIONS, SOLE_OPERATION]
      : QUEUE_OPERATIONS

/** The share of handlers that end while a call about their lease is under way, and the longest time until then. */
const END_BESIDE_CALL_SHARE = 0.15
const MAX_BESIDE_CALL_MS = 6

interface Item {
  readonly operation: QueueOperation
  readonly itemId: string
  readonly idempotencyKey: string
  readonly payload: object
}

/** Stores and replays dead letters in the small cluster. */
export class QueueActions {
  private readonly cluster: SmallCluster
  private readonly items: Item[] = []
  /** Functions that end the handlers that run, by process and entry. */
  private readonly handlerEnds = new Map<string, () => void>()
  private itemCount = 0
  /** Since when the queue is full, or is not. */
  private fullSince: number | undefined
  private lastFullAt = Number.NEGATIVE_INFINITY
  private nearlyFullSince = Number.POSITIVE_INFINITY

  constructor(cluster: SmallCluster) {
    this.cluster = cluster
  }

  /** Registers the handlers of a process. The first node has one of them and no worker: it requests replays from others. */
  onStarted(process: Process, runtime: Holdfast): void {
    for (const operation of handledBy(process))
      runtime.deadLetters.handle(operation, (payload, { dlqId }, { signal }) =>
        this.handle(process, operation, dlqId, payload, signal),
      )
    if (process.name.startsWith('n0.')) return
    const options = { concurrency: WORKER_CONCURRENCY, interval: WORKER_INTERVAL_MS }
    runtime.deadLetters.work(options).catch(() => {})
  }

  /** Stores new items, most of them at the same time. */
  storeBurst(process: Process, runtime: Holdfast): void {
    const { choices } = this.cluster
    const operation = choices.pick(QUEUE_OPERATIONS)
    for (let count = 2 + choices.below(choices.pick([5, 25])); count > 0; count--) {
      const item = this.createItem(operation)
      if (choices.chance(0.3)) void this.fail(process, runtime, item)
      else void this.enqueue(process, runtime, item, true)
    }
  }

  /** Makes one call that fails. */
  failOne(process: Process, runtime: Holdfast): void {
    void this.fail(process, runtime, this.createItem(this.cluster.choices.pick(QUEUE_OPERATIONS)))
  }

  /** Stores the last item again, as a caller does whose first request failed, or another item with the same key. */
  repeatItem(process: Process, runtime: Holdfast): void {
    const { choices } = this.cluster
    const item = this.items[this.items.length - 1 - choices.below(Math.min(8, this.items.length))]
    if (item === undefined) return
    const payload = choices.chance(0.3) ? { other: true, text: 'secret' } : item.payload
    void this.enqueue(process, runtime, { ...item, payload }, false)
  }

  replayOne(process: Process, runtime: Holdfast): void {
    if (this.cluster.choices.chance(0.1)) return void this.replayUnknown(process, runtime)
    const id = this.pickId()
    if (id !== undefined) void this.replayEntry(process, runtime, id)
  }

  /** Stores and replays an entry whose renewals fail until its lease has ended. Then the process must acquire it again. */
  async replayExpiring(process: Process, runtime: Holdfast): Promise<void> {
    const { faults } = this.cluster
    const id = await this.enqueue(process, runtime, this.createItem(SOLE_OPERATION), true)
    if (id === undefined || !process.isAlive || this.cluster.isClosing(process.name)) return
    faults.startExpiring(process.name, id)
    await this.replayEntry(process, runtime, id)
    faults.endExpiring(id)
  }

  /** Ends some handlers while a call about their lease is under way. */
  onStoreCalled({ process, method, args }: StoreCall): void {
    if (method !== 'deadLetters.renew' && method !== 'deadLetters.lease') return
    const id = String(args[0])
    const end = this.handlerEnds.get(`${process} ${id}`)
    const { choices, faults, scheduler } = this.cluster
    const isExpiring = faults.isExpiring(process, id)
    // The lease of such an entry must end before its handler.
    if (method === 'deadLetters.renew' && isExpiring) return
    if (end !== undefined && (isExpiring || choices.chance(END_BESIDE_CALL_SHARE)))
      scheduler.schedule(choices.between(0, MAX_BESIDE_CALL_MS), end)
  }

  private async replayEntry(process: Process, runtime: Holdfast, id: string): Promise<void> {
    const { choices, queue } = this.cluster
    const startedAt = this.cluster.scheduler.now
    const end = this.beginSingle(process, id, `the replay of ${id}`, REPLAY_LIMIT_MS)
    try {
      const { status } = await runtime.deadLetters.replay(id, { waitForBreaker: choices.chance(0.5) })
      this.cluster.checkAlive(process, () => {
        if (status === 'completed' && !queue.entries.get(id)?.isCompleted)
          throw new Violation('completed', `a replay of ${id} resolved as completed, and it is not`)
      })
    } catch (error) {
      this.cluster.checkAlive(process, () => {
        // Completed entries are deleted if they are too many.
        const isDeleted = codeOf(error) === 'DEAD_LETTER_NOT_FOUND' && queue.entries.get(id)?.isCompleted
        const isExpected =
          isDeleted ||
          ['STORE_UNAVAILABLE', 'CANCELLED', LASTING_ERROR_CODE].includes(String(codeOf(error))) ||
          (codeOf(error) === 'DEAD_LETTER_LEASED' && this.cluster.leases.wasHeld(id, startedAt))
        if (!isExpected) throw new Violation('completed', `a replay of ${id} failed: ${String(error)}`)
      })
    } finally {
      end()
    }
  }

  /** Replays a batch with any options. */
  async replayBatch(process: Process, runtime: Holdfast, isDrain = false): Promise<void> {
    const { choices, batches, scheduler, leases } = this.cluster
    const { name } = process
    if (batches.has(name)) return
    const some = <T>(probability: number, value: T) =>
      !isDrain && choices.chance(probability) ? value : undefined
    const ids = some(0.15, this.pickIds())
    const plan = {
      operation: some(0.6, choices.pick(QUEUE_OPERATIONS)),
      // A limit is about the entries of all operations, of which the first node has one.
      limit: some(handledBy(process).length === 1 ? 0.6 : 0.25, 1 + choices.below(12)),
      concurrency: isDrain ? 4 : choices.pick([1, 1, 2, 4]),
      rate: some(0.25, choices.pick([0.5, 4, 20])),
      retryFailed: isDrain || choices.chance(0.4),
    }
    const model = new BatchModel(
      name,
      { ...plan, hasIds: ids !== undefined, handled: handledBy(process) },
      () => scheduler.now,
    )
    batches.set(name, model)
    const controller = new AbortController()
    const abortAfterMs = some(0.3, choices.pick([50, 2000, 20_000]) * choices.random())
    if (abortAfterMs !== undefined)
      scheduler.schedule(abortAfterMs, () => {
        if (!process.isAlive) return
        model.stop()
        controller.abort()
      })
    const skipped: { reason: string; count: number }[] = []
    const check = (fn: () => void) => {
      if (!this.cluster.isClosing(name)) this.cluster.checkAlive(process, fn)
    }
    try {
      const result = await runtime.deadLetters.replayBatch({
        ...plan,
        ids,
        waitForBreaker: choices.chance(0.4),
        signal: controller.signal,
        onProgress: (progress) => check(() => model.onProgress(progress)),
        onSkipped: (some) => skipped.push(some),
      })
      check(() => model.onResult(result, skipped))
    } catch (error) {
      check(() => model.onFailed(error))
    } finally {
      check(() => leases.checkReleased(name, ({ kind }) => kind === 'batch'))
      if (batches.get(name) === model) batches.delete(name)
    }
  }

  /** Requests many replays, or those of single entries. */
  async requestReplays(process: Process, runtime: Holdfast): Promise<void> {
    const { queue } = this.cluster
    for (const id of this.pickIds())
      if (!queue.entries.get(id)?.isCompleted && !this.cluster.isClosing(process.name)) {
        const end = this.beginSingle(process, id, `the request of ${id}`, STORE_LIMIT_MS)
        await runtime.store.deadLetters.request(id, new Date(process.clock.wall())).catch(() => {})
        end()
      }
  }

  edit(process: Process, runtime: Holdfast): void {
    const id = this.pickId()
    if (id === undefined) return
    const payload = { edited: true, text: `secret of ${id}` }
    void this.expectEnd(process, `the edit of ${id}`, () => runtime.deadLetters.edit(id, payload))
  }

  complete(process: Process, runtime: Holdfast): void {
    const id = this.pickId()
    if (id !== undefined)
      void this.expectEnd(process, `the completion of ${id}`, () => runtime.deadLetters.complete(id))
  }

  /** Encrypts all payloads with the newest key of a process. */
  async rotate(process: Process, runtime: Holdfast, keys: readonly string[]): Promise<void> {
    const ids = [...this.cluster.queue.entries.keys()]
    let isDone = false
    this.cluster.scheduler.schedule(ROTATION_LIMIT_MS, () =>
      this.cluster.checkAlive(process, () => {
        if (!isDone) throw new Violation('hangs', `the rotation of keys by ${process.name} has not ended`)
      }),
    )
    try {
      const { unreadable } = await runtime.deadLetters.rotate()
      this.cluster.checkAlive(process, () => {
        if (unreadable.length > 0)
          throw new Violation('lost', `${unreadable[0]} cannot be decrypted with the keys of ${process.name}`)
        this.cluster.queue.checkRotated(ids, new KeyRing(keys), (id) => this.cluster.readEntry(id))
      })
    } catch {
      // A call of the store failed. A rotation can be repeated.
    }
    isDone = true
  }

  /** Notices how long the queue is full. Called after each event. */
  onEventEnded(): void {
    const { queue, settings, scheduler } = this.cluster
    if (!queue.isNearlyFull) this.nearlyFullSince = Number.POSITIVE_INFINITY
    else this.nearlyFullSince = Math.min(this.nearlyFullSince, scheduler.now)
    if (queue.openCount < settings.maxEntries) this.fullSince = undefined
    else {
      this.fullSince ??= scheduler.now
      this.lastFullAt = scheduler.now
    }
  }

  private createItem(operation: QueueOperation): Item {
    const number = this.itemCount++
    const payload = { number, text: `secret ${number}` }
    const item = { operation, itemId: `item-${number}`, idempotencyKey: `key-${number}`, payload }
    this.items.push(item)
    return item
  }

  private async replayUnknown(process: Process, runtime: Holdfast): Promise<void> {
    const code = await runtime.deadLetters.replay('dlq_unknown').then(() => 'nothing', codeOf)
    this.cluster.checkAlive(process, () => {
      if (!['DEAD_LETTER_NOT_FOUND', 'STORE_UNAVAILABLE', 'CANCELLED'].includes(String(code)))
        throw new Violation('completed', `the replay of an unknown entry ended with ${String(code)}`)
    })
  }

  /** Stores an item. Returns the id of its entry; undefined if it was rejected. */
  private enqueue(
    process: Process,
    runtime: Holdfast,
    item: Item,
    isNew: boolean,
  ): Promise<string | undefined> {
    const { queue, port, scheduler } = this.cluster
    const { payload, idempotencyKey: key } = item
    const startedAt = scheduler.now
    const wasNearlyFull = isNew && startedAt - this.nearlyFullSince > COUNT_MS
    return this.expectEnd(process, `the request to store ${key}`, async () => {
      try {
        const { dlqId } = await runtime.deadLetters.enqueue({ ...item, error: errorOf('ECONNRESET') })
        this.cluster.checkAlive(process, () => {
          queue.onAcknowledged(dlqId, key, payload)
          const isCalm = port.isFaultless(process.name, FULL_KNOWN_MS)
          if (wasNearlyFull && queue.isNearlyFull && isCalm) queue.checkWarned(process.name)
        })
        return dlqId
      } catch (error) {
        this.cluster.checkAlive(process, () => {
          const hadFault = !port.isFaultless(process.name, scheduler.now - startedAt + 1)
          if (!this.cluster.isClosing(process.name)) queue.onRejected(key, payload, codeOf(error), hadFault)
        })
        return undefined
      }
    })
  }

  /** A call that fails and becomes a dead letter. */
  private async fail(process: Process, runtime: Holdfast, item: Item): Promise<void> {
    const { queue, port, scheduler, settings } = this.cluster
    const { operation, payload, idempotencyKey, itemId } = item
    const startedAt = scheduler.now
    const { name } = process
    const isKnown = port.isFaultless(name, FULL_KNOWN_MS) && process.clock.now() > FULL_KNOWN_MS
    const mustReject =
      settings.refuses && isKnown && startedAt - (this.fullSince ?? Number.POSITIVE_INFINITY) > FULL_KNOWN_MS
    let attempts = 0
    await this.expectEnd(process, `the call with ${idempotencyKey}`, async () => {
      try {
        await runtime.run(
          operation,
          () => {
            attempts++
            throw errorOf('ECONNRESET')
          },
          { payload, idempotencyKey, itemId },
        )
      } catch (error) {
        const id = runtime.deadLetters.capturedIdOf(payload)
        this.cluster.checkAlive(process, () => {
          if (this.cluster.isClosing(name)) return
          if (id !== undefined) queue.onAcknowledged(id, idempotencyKey, payload)
          const isRefused = codeOf(error) === 'DEAD_LETTERS_FULL'
          if (mustReject && !isRefused)
            throw new Violation('capacity', `${name} accepted a call while the queue was full for 10 s`)
          if (isRefused && isKnown && startedAt - this.lastFullAt > FULL_KNOWN_MS)
            throw new Violation(
              'capacity',
              `${name} rejected a call although the queue was not full for 10 s`,
            )
          if (isRefused && attempts > 0)
            throw new Violation('capacity', `${name} made ${attempts} attempts of a call that it rejected`)
          const hadFault = !port.isFaultless(name, scheduler.now - startedAt + 1)
          if (id === undefined && !isRefused && !hadFault && !queue.isFullFor(idempotencyKey))
            throw new Violation('lost', `a call of ${name} failed without a dead letter`)
        })
      }
    })
  }

  /** Runs work that must end in time. Returns its result; undefined after an error. */
  private async expectEnd<T>(process: Process, what: string, work: () => Promise<T>): Promise<T | undefined> {
    const end = this.beginWork(process, what, STORE_LIMIT_MS)
    try {
      return await work()
    } catch {
      return undefined
    } finally {
      end()
    }
  }

  /** Work begins that must end in time. Returns a function that reports its end. */
  private beginWork(process: Process, what: string, limitMs: number): () => void {
    let isDone = false
    this.cluster.scheduler.schedule(limitMs, () =>
      this.cluster.checkAlive(process, () => {
        if (!isDone) throw new Violation('hangs', `${what} of ${process.name} has not ended in ${limitMs} ms`)
      }),
    )
    return () => {
      isDone = true
    }
  }

  /** Work about one entry begins, without a batch. Returns a function that reports its end. */
  private beginSingle(process: Process, id: string, what: string, limitMs: number): () => void {
    const { singleRequests } = this.cluster
    const key = `${process.name} ${id}`
    const end = this.beginWork(process, what, limitMs)
    singleRequests.add(key)
    return () => {
      singleRequests.delete(key)
      end()
    }
  }

  private handle(
    process: Process,
    operation: QueueOperation,
    id: string,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { leases, queue, batches } = this.cluster
    let run: LeasedRun | undefined
    this.cluster.checkAlive(process, () => {
      run = leases.onHandlerStarted(process.name, id)
      batches.get(process.name)?.onHandlerStarted(run.lease)
      queue.onHandled(id, payload)
    })
    const { ms, fails } = this.planHandler(process, operation, id)
    const { clock } = process
    const key = `${process.name} ${id}`
    return new Promise((resolve, reject) => {
      const end = (how: HandlerEnd) => {
        clock.clearTimer(timer)
        if (this.handlerEnds.get(key) === endNow) this.handlerEnds.delete(key)
        signal.removeEventListener('abort', onAbort)
        this.cluster.checkAlive(process, () => {
          if (run === undefined) return
          leases.onHandlerEnded(run, how)
          batches.get(process.name)?.onHandlerEnded(run.lease)
        })
        if (how === 'succeeded') resolve()
        else reject(how === 'aborted' ? signal.reason : errorOf('ECONNRESET'))
      }
      const onAbort = () => end('aborted')
      const endNow = () => {
        if (process.isAlive && this.handlerEnds.get(key) === endNow) end(fails ? 'failed' : 'succeeded')
      }
      const timer = clock.setTimer(() => end(fails ? 'failed' : 'succeeded'), ms)
      this.handlerEnds.set(key, endNow)
      signal.addEventListener('abort', onAbort)
    })
  }

  /** Most handlers are fast, so that many entries are leased in advance, and a slow one lets these wait too long. */
  private planHandler(
    { name }: Process,
    operation: QueueOperation,
    id: string,
  ): { ms: number; fails: boolean } {
    const { choices, scheduler, faults } = this.cluster
    if (scheduler.now > FAULTS_END_MS) return { ms: choices.between(1, 20), fails: false }
    if (faults.isExpiring(name, id)) return { ms: LONGEST_HANDLER_MS, fails: choices.chance(0.85) }
    if (operation === 'guarded') return { ms: choices.between(5, 200), fails: choices.chance(0.4) }
    const fails = choices.chance(0.1)
    if (operation === 'fast')
      return { ms: choices.chance(0.85) ? choices.between(1, 15) : choices.between(2500, 6000), fails }
    const [low, high] = choices.pick([
      [50, 2000],
      [50, 2000],
      [3000, 8000],
      [3000, 8000],
      [110_000, LONGEST_HANDLER_MS],
    ] as const)
    return { ms: choices.between(low, high), fails }
  }

  private pickId(): string | undefined {
    const ids = [...this.cluster.queue.entries.values()].flatMap(({ id, operation }) =>
      operation === SOLE_OPERATION ? [] : id,
    )
    // Mostly a new entry, because most of the old ones are completed.
    return ids[Math.floor((1 - this.cluster.choices.random() ** 3) * ids.length)]
  }

  private pickIds(): string[] {
    const { choices, queue } = this.cluster
    const operation = choices.pick(QUEUE_OPERATIONS)
    const open = [...queue.entries.values()].filter(
      (entry) => !entry.isCompleted && entry.operation === operation,
    )
    return open.slice(0, 1 + choices.below(15)).map(({ id }) => id)
  }
}
