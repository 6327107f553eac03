import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { createEntryChanges, type DecideChange, toDuplicate } from '../dead-letter-decisions.js'
import { toQuery } from '../dead-letter-index.js'
import { dayOf, viewAt, withLease } from '../dead-letter-rules.js'
import type { Added, DeadLetterSelector, DeadLetterStore } from '../dead-letter-store.js'
import { purgeInBatches } from '../purge.js'
import type { SortPosition } from '../sorted-list.js'
import { createUnavailableError, type Disk, type FileLock } from './disk.js'
import { EntryFiles, type FileEntry } from './entry-files.js'
import { SerialQueue } from './serial-queue.js'
import { WriteTransaction } from './write-transaction.js'

type TransactionWork = (transaction: WriteTransaction) => Promise<unknown>

/** Dead letters with one file per entry, for any number of processes. */
export class FilesDeadLetters implements DeadLetterStore {
  private readonly entries: EntryFiles
  private readonly queue: SerialQueue<TransactionWork, unknown>
  private readonly disk: Disk
  private readonly lock: FileLock
  private readonly root: string
  private readonly entryChanges = createEntryChanges((id, decide) => this.change(id, decide))
  readonly lease = this.entryChanges.lease
  readonly renew = this.entryChanges.renew
  readonly settle = this.entryChanges.settle
  readonly complete = this.entryChanges.complete
  readonly request = this.entryChanges.request
  readonly edit = this.entryChanges.edit
  readonly rewrite = this.entryChanges.rewrite

  constructor(disk: Disk, lock: FileLock, root: string, warn: (line: string) => void) {
    this.disk = disk
    this.lock = lock
    this.root = root
    this.entries = new EntryFiles(disk, root, warn)
    this.queue = new SerialQueue((works) =>
      this.withStoreErrors(() => lock.runExclusive(() => this.runBatch(works))),
    )
  }

  async open(): Promise<void> {
    await this.withStoreErrors(async () => {
      await this.disk.makeFolder(this.root)
      await this.lock.runExclusive(async () => {
        await this.disk.removeUnfinished(this.root)
        await this.entries.changes.catchUp()
      })
      await this.entries.readAhead()
      await this.lock.runExclusive(() => this.entries.refresh())
    })
  }

  whenIdle(): Promise<void> {
    return this.queue.whenIdle()
  }

  private async withStoreErrors<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      throw createUnavailableError(this.root, error)
    }
  }

  /** Runs a batch of work under the lock. The result of work that fails is its error, so that the rest of the batch is carried out. */
  private async runBatch(works: readonly TransactionWork[]): Promise<unknown[]> {
    if (!(await this.entries.isUpToDate())) await this.entries.refresh()
    const transaction = new WriteTransaction(this.entries)
    const done = []
    for (const work of works)
      done.push(
        await transaction.runWork(() =>
          this.withStoreErrors(() => work(transaction)).catch((error: unknown) => error),
        ),
      )
    await transaction.commit()
    return done.map(({ result, touched }) => transaction.failureOf(touched) ?? result)
  }

  /** Reads are queued like writes: they see all changes before them, and no change that failed to be written. */
  private enqueue<R>(work: (transaction: WriteTransaction) => Promise<R>): Promise<R> {
    return this.queue.enqueue(work) as Promise<R>
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return this.enqueue(async (transaction) => {
      // All known entries are read before one is added, because an entry that cannot be read fails the call.
      for (const entry of entries) await this.findKnown(transaction, entry)
      const results: Added[] = []
      for (const entry of entries) results.push(await this.addOne(transaction, entry, limits.maxEntries))
      return results
    })
  }

  /** The stored entry with the same key or id. */
  private async findKnown(transaction: WriteTransaction, entry: DeadLetter) {
    const { index } = this.entries
    const same = index.getByKey(entry.idempotencyKey) ?? index.get(entry.dlqId)
    return same && (await transaction.find(same.id))
  }

  private async addOne(transaction: WriteTransaction, entry: DeadLetter, maxEntries: number): Promise<Added> {
    const known = await this.findKnown(transaction, entry)
    if (known !== undefined) {
      transaction.confirmStored()
      return toDuplicate(known.entry, entry)
    }
    if (this.entries.index.openCount >= maxEntries) return { result: 'full' }
    return { result: 'added', entry: await transaction.add(entry) }
  }

  get(id: string, now: Date): Promise<DeadLetter | undefined> {
    return this.enqueue(async (transaction) => {
      const indexed = this.entries.index.get(id)
      const entry = indexed && (await transaction.read(indexed))
      return entry && viewAt(entry, now.getTime())
    })
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    return this.enqueue(async (transaction) => {
      const matches: FileEntry[] = []
      for (const indexed of this.entries.index.select(
        toQuery(filter ?? {}),
        now.getTime(),
        isNewestFirst,
        after as SortPosition,
      )) {
        if (this.entries.isUnreadable(indexed)) continue
        matches.push(indexed)
        if (matches.length > limit) break
      }
      const hasMore = matches.length > limit
      if (hasMore) matches.pop()
      const read = await Promise.all(matches.map((indexed) => transaction.read(indexed)))
      const items = read.flatMap((entry) => (entry === undefined ? [] : viewAt(entry, now.getTime())))
      const last = matches.at(-1)
      return hasMore && last !== undefined
        ? { items, cursor: encodeCursor(isNewestFirst, [last.at, last.order]) }
        : { items }
    })
  }

  count(selector: DeadLetterSelector, now: Date) {
    return this.enqueue(async () => this.entries.index.count(toQuery(selector), now.getTime()))
  }

  private change<R>(id: string, decide: DecideChange<R>): Promise<R> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      const { result, entry, owner } = decide(found && { entry: found.entry, owner: found.indexed.owner })
      if (found !== undefined && entry !== undefined)
        transaction.put(entry, found.indexed.order, owner ?? undefined)
      else transaction.confirmStored()
      return result
    })
  }

  leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    return this.enqueue(async (transaction) => {
      const matches: FileEntry[] = []
      for (const indexed of this.entries.index.select(want, now.getTime(), false)) {
        if (matches.length >= want.limit) break
        if (!want.except?.has(indexed.id) && !this.entries.isUnreadable(indexed)) matches.push(indexed)
      }
      // All are read before one is leased, because an entry that cannot be read fails the call.
      const found = []
      for (const { id } of matches) {
        const stored = await transaction.find(id)
        if (stored !== undefined) found.push(stored)
      }
      return found.map(({ indexed, entry }) => transaction.put(withLease(entry, until), indexed.order, owner))
    })
  }

  isProcessed(id: string): Promise<boolean> {
    return this.enqueue(async () => {
      // Another process may have deleted ids, which does not change the entries.
      await this.entries.processed.refresh()
      return this.entries.processed.has(id) || this.entries.index.get(id)?.status === 'completed'
    })
  }

  deleteProcessedIds(before: Date): Promise<number> {
    return this.enqueue(() => {
      const { processed, index } = this.entries
      return processed.deleteBefore(dayOf(before), (id) => index.get(id) !== undefined)
    })
  }

  /**
   * Each batch is a transaction of its own, so that other calls and processes do not wait for all of them. The next one is queued
   * as soon as the result of the previous one is known, before {@link whenIdle} finds the queue empty.
   */
  purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    return purgeInBatches<FileEntry>(filter, now, (find) =>
      this.enqueue(async (transaction) => {
        for (const indexed of find(this.entries.index)) transaction.remove(indexed)
      }),
    )
  }

  stats(now: Date) {
    return this.enqueue(async () => this.entries.index.stats(now.getTime()))
  }
}
