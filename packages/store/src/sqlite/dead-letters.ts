import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { createEntryChanges, type DecideChange } from '../dead-letter-decisions.js'
import { toQuery } from '../dead-letter-index.js'
import { startOfDay, viewAt, withLease } from '../dead-letter-rules.js'
import type { RowSelection } from '../dead-letter-selection.js'
import type {
  DeadLetterFilter,
  DeadLetterSelector,
  DeadLetterStats,
  DeadLetterStore,
} from '../dead-letter-store.js'
import type { Page } from '../journals.js'
import { toColumn } from '../text.js'
import type { DeadLetterRows } from './dead-letter-buffer.js'
import { type EncodedDeadLetter, type Inserted, insertDeadLetters } from './dead-letter-inserts.js'
import { countEntries, readStats, selectPositions } from './dead-letter-queries.js'
import {
  deleteEntry,
  findById,
  readEntries,
  replaceEntry,
  type StoredDeadLetter,
} from './dead-letter-rows.js'
import {
  DELETE_PROCESSED,
  type RowPosition,
  SELECT_PROCESSED,
  SELECT_PROCESSED_AFTER,
} from './statements/dead-letters.js'
import { releaseFreePages } from './vacuum.js'
import type { WriteQueue } from './write-queue.js'

/** How many entries are read, leased or deleted before the event loop gets a turn. */
const BATCH_SIZE = 100

/** How many processed ids are checked before the event loop gets a turn. */
const PROCESSED_BATCH_SIZE = 1000

/** Dead letters in a table. Every change is a transaction that is durable when its promise resolves. */
export class SqliteDeadLetters implements DeadLetterRows {
  private readonly writes: WriteQueue
  private readonly entryChanges = createEntryChanges((id, decide) => this.change(id, decide))
  readonly lease = this.entryChanges.lease
  readonly renew = this.entryChanges.renew
  readonly settle = this.entryChanges.settle
  readonly complete = this.entryChanges.complete
  readonly request = this.entryChanges.request
  readonly edit = this.entryChanges.edit
  readonly rewrite = this.entryChanges.rewrite

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  insert(entries: readonly EncodedDeadLetter[]): Promise<Inserted[]> {
    return this.writes.write(() => insertDeadLetters(this.writes, entries))
  }

  get(id: string, now: Date): Promise<DeadLetter | undefined> {
    return this.writes.read(() => {
      const stored = this.findEntry(id)
      return stored && viewAt(stored.entry, now.getTime())
    })
  }

  private findEntry(id: string): StoredDeadLetter | undefined {
    return findById(this.writes, id)
  }

  async list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const wanted: RowSelection = toQuery(filter ?? {})
    const items: DeadLetter[] = []
    let last: RowPosition | undefined = after && { created_at: Number(after[0]), seq: Number(after[1]) }
    for (;;) {
      const from: RowPosition | undefined = last
      const want = Math.min(BATCH_SIZE, limit - items.length)
      const { positions, entries } = await this.writes.read(() => {
        // One more than wanted shows whether there is another page.
        const found = selectPositions(this.writes.sql, wanted, now.getTime(), {
          isNewestFirst,
          after: from,
          limit: want + 1,
        })
        return { positions: found, entries: readEntries(this.writes, found.slice(0, want)) }
      })
      for (const stored of entries) if (stored !== undefined) items.push(viewAt(stored.entry, now.getTime()))
      if (positions.length <= want) return { items }
      last = positions[want - 1] as RowPosition
      if (items.length >= limit)
        return { items, cursor: encodeCursor(isNewestFirst, [last.created_at, last.seq]) }
      await this.writes.nextTurn()
    }
  }

  count(selector: DeadLetterSelector, now: Date): Promise<Record<DeadLetterStatus, number>> {
    return this.writes.read(() => countEntries(this.writes.sql, toQuery(selector), now.getTime()))
  }

  private change<R>(id: string, decide: DecideChange<R>): Promise<R> {
    return this.writes.write(() => {
      const stored = this.findEntry(id)
      const { result, entry, owner } = decide(stored)
      if (stored !== undefined && entry !== undefined)
        replaceEntry(this.writes.sql, stored, entry, owner ?? null)
      return result
    })
  }

  async leaseNext(
    want: Parameters<DeadLetterStore['leaseNext']>[0],
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]> {
    const leased: DeadLetter[] = []
    let last: RowPosition | undefined
    while (leased.length < want.limit) {
      const from: RowPosition | undefined = last
      const maxLeases = Math.min(BATCH_SIZE, want.limit - leased.length)
      const size = Math.min(BATCH_SIZE, maxLeases + (want.except?.size ?? 0))
      const part = await this.writes.write(() => {
        const { sql } = this.writes
        const page = { isNewestFirst: false, after: from, limit: size }
        const positions = selectPositions(sql, { ...want, isUnleased: true }, now.getTime(), page)
        const taken: DeadLetter[] = []
        let end = from
        for (const [i, stored] of readEntries(this.writes, positions).entries()) {
          if (taken.length === maxLeases) break
          end = positions[i]
          if (stored === undefined) continue
          if (want.except?.has(stored.entry.dlqId) !== true)
            taken.push(replaceEntry(sql, stored, withLease(stored.entry, until), owner))
        }
        return { taken, end, isLast: positions.length < size }
      })
      leased.push(...part.taken)
      if (part.isLast) break
      last = part.end
    }
    return leased
  }

  isProcessed(id: string): Promise<boolean> {
    return this.writes.read(() => this.writes.sql.get(SELECT_PROCESSED, toColumn(id)) !== undefined)
  }

  async deleteProcessedIds(before: Date): Promise<number> {
    const time = startOfDay(before)
    let deleted = 0
    for (let last = ''; ; await this.writes.nextTurn()) {
      const from = last
      const rows = await this.writes.read(() =>
        this.writes.sql.all<{ id: string; completed_at: number }>(
          SELECT_PROCESSED_AFTER,
          from,
          PROCESSED_BATCH_SIZE,
        ),
      )
      const to = rows.at(-1)?.id
      if (to === undefined) break
      // Checked with a read first, because it does not need the write lock.
      if (rows.some(({ completed_at }) => completed_at < time))
        deleted += await this.writes.write(() =>
          this.writes.sql.statement(DELETE_PROCESSED).run([from, to, time]),
        )
      if (rows.length < PROCESSED_BATCH_SIZE) break
      last = to
    }
    if (deleted > 0) await releaseFreePages(this.writes)
    return deleted
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    const { ids, limit = Number.POSITIVE_INFINITY, order } = filter
    const wanted: RowSelection = { ...toQuery(filter), ids, isUnleased: true }
    let deleted = 0
    for (let last: RowPosition | undefined; ; ) {
      const from: RowPosition | undefined = last
      const room = limit - deleted
      const { positions, removed } = await this.writes.write(() => {
        const page = { isNewestFirst: order === 'newest', after: from, limit: BATCH_SIZE }
        const found = selectPositions(this.writes.sql, wanted, now.getTime(), page)
        return { positions: found, removed: this.deleteRows(found.slice(0, room)) }
      })
      deleted += removed
      last = positions.at(-1)
      if (positions.length < BATCH_SIZE || deleted >= limit) break
    }
    await releaseFreePages(this.writes)
    return deleted
  }

  private deleteRows(positions: readonly RowPosition[]): number {
    for (const { seq } of positions) deleteEntry(this.writes.sql, seq)
    return positions.length
  }

  stats(now: Date): Promise<DeadLetterStats> {
    return this.writes.read(() => readStats(this.writes.sql, now.getTime()))
  }
}
