import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { toQuery } from '../dead-letter-index.js'
import { asCompleted, asSettled, isLeased, viewAt, withLease } from '../dead-letter-rules.js'
import { isSamePayload } from '../payload.js'
import type { SortPosition } from '../sorted-list.js'
import type { Added, DeadLetterStore, Leased, Settlement } from '../store.js'
import { createUnavailableError, type Disk } from './disk.js'
import { EntryFiles, type FileEntry } from './entry-files.js'
import type { FairFileLock } from './lock.js'
import { SerialQueue } from './serial-queue.js'
import { WriteTransaction } from './write-transaction.js'

type TransactionWork = (transaction: WriteTransaction) => Promise<unknown>

/** Dead letters, an entry a file, for any number of processes. */
export class FilesDeadLetters implements DeadLetterStore {
  private readonly entries: EntryFiles
  private readonly queue: SerialQueue<TransactionWork, unknown>
  private readonly disk: Disk
  private readonly lock: FairFileLock
  private readonly root: string

  constructor(disk: Disk, lock: FairFileLock, root: string, warn: (line: string) => void) {
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

  /** Does a batch of work under the lock. */
  private async runBatch(works: readonly TransactionWork[]): Promise<unknown[]> {
    if (!(await this.entries.isUpToDate())) await this.entries.refresh()
    const transaction = new WriteTransaction(this.entries)
    const done = []
    for (const work of works) done.push(await transaction.runWork(work))
    await transaction.commit()
    return done.map(({ result, touched }) => transaction.failureOf(touched) ?? result)
  }

  /** Looking is work as any other: it sees what was done before it, and nothing that is not written in the end. */
  private enqueue<R>(work: (transaction: WriteTransaction) => Promise<R>): Promise<R> {
    return this.queue.enqueue(work) as Promise<R>
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return this.enqueue(async (transaction) => {
      const results: Added[] = []
      for (const entry of entries) results.push(await this.addOne(transaction, entry, limits.maxEntries))
      return results
    })
  }

  private async addOne(transaction: WriteTransaction, entry: DeadLetter, maxEntries: number): Promise<Added> {
    const { index } = this.entries
    const same = index.getByKey(entry.idempotencyKey) ?? index.get(entry.dlqId)
    const known = same && (await transaction.find(same.id))
    if (known !== undefined)
      return {
        result: isSamePayload(known.entry.originalPayload, entry.originalPayload) ? 'known' : 'conflict',
        entry: known.entry,
      }
    if (index.openCount >= maxEntries) return { result: 'full' }
    return { result: 'added', entry: await transaction.add(entry) }
  }

  get(id: string, now: Date): Promise<DeadLetter | undefined> {
    return this.enqueue(async (transaction) => {
      const slot = this.entries.index.get(id)
      const entry = slot && (await transaction.read(slot))
      return entry && viewAt(entry, now.getTime())
    })
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    return this.enqueue(async (transaction) => {
      const slots: FileEntry[] = []
      for (const slot of this.entries.index.select(
        toQuery(filter ?? {}),
        now.getTime(),
        isNewestFirst,
        after as SortPosition,
      )) {
        slots.push(slot)
        if (slots.length > limit) break
      }
      const more = slots.length > limit
      if (more) slots.pop()
      const read = await Promise.all(slots.map((slot) => transaction.read(slot)))
      const items = read.flatMap((entry) => (entry === undefined ? [] : viewAt(entry, now.getTime())))
      const last = slots.at(-1)
      return more && last !== undefined
        ? { items, cursor: encodeCursor(isNewestFirst, [last.at, last.order]) }
        : { items }
    })
  }

  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    return this.enqueue(async (transaction): Promise<Leased> => {
      const found = await transaction.find(id)
      if (found === undefined) return { result: 'missing' }
      const { slot, entry } = found
      if (slot.status === 'completed') return { result: 'done', entry }
      if (isLeased(slot, now.getTime())) return { result: 'held', until: new Date(slot.leasedUntil) }
      return { result: 'leased', entry: transaction.put(withLease(entry, until), slot.order, owner) }
    })
  }

  leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    return this.enqueue(async (transaction) => {
      const slots: FileEntry[] = []
      for (const slot of this.entries.index.select(want, now.getTime(), false)) {
        if (slots.length >= want.limit) break
        if (!want.except?.has(slot.id)) slots.push(slot)
      }
      const leased: DeadLetter[] = []
      for (const slot of slots) {
        const found = await transaction.find(slot.id)
        if (found !== undefined)
          leased.push(transaction.put(withLease(found.entry, until), slot.order, owner))
      }
      return leased
    })
  }

  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      if (found?.slot.owner !== owner || !isLeased(found.slot, now.getTime())) return false
      transaction.put(withLease(found.entry, until), found.slot.order, owner)
      return true
    })
  }

  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      if (found === undefined || found.slot.status === 'completed') return undefined
      const { slot, entry } = found
      const holds = slot.owner === owner && isLeased(slot, settlement.at.getTime())
      if (!holds && settlement.status !== 'completed') return undefined
      return transaction.put(asSettled(entry, settlement), slot.order)
    })
  }

  complete(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      if (found === undefined || found.slot.status === 'completed') return found?.entry
      return transaction.put(asCompleted(found.entry, at), found.slot.order)
    })
  }

  request(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      if (found === undefined || found.slot.status === 'completed') return found?.entry
      return transaction.put({ ...found.entry, replayRequestedAt: at }, found.slot.order, found.slot.owner)
    })
  }

  isProcessed(id: string): Promise<boolean> {
    return this.enqueue(
      async () => this.entries.processed.has(id) || this.entries.index.get(id)?.status === 'completed',
    )
  }

  purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    return this.enqueue(async (transaction) => {
      const limit = filter.limit ?? Number.POSITIVE_INFINITY
      const gone: FileEntry[] = []
      for (const slot of this.entries.index.select(toQuery(filter), now.getTime(), false)) {
        if (gone.length >= limit) break
        if (!isLeased(slot, now.getTime())) gone.push(slot)
      }
      for (const slot of gone) transaction.remove(slot)
      return gone.length
    })
  }

  stats(now: Date) {
    return this.enqueue(async () => this.entries.index.stats(now.getTime()))
  }

  rewrite(id: string, payload: unknown): Promise<void> {
    return this.enqueue(async (transaction) => {
      const found = await transaction.find(id)
      if (found !== undefined)
        transaction.put({ ...found.entry, originalPayload: payload }, found.slot.order, found.slot.owner)
    })
  }
}
