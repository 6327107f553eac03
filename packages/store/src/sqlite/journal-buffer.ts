import type { CamelCased, sessionSchema } from '@holdfast/records'
import type { z } from 'zod'
import type { Journal, Page, PageOptions, SessionFilter, SessionJournal } from '../journals.js'
import type { JournalTable } from './journal-tables.js'
import { nodePlatform, type SqlitePlatform } from './platform.js'
import { type EncodedRow, RowDraft } from './rows.js'

/** How long records wait to be written together. */
const DEFER_MS = 10

/** How many records wait at most. */
const MAX_BATCH_RECORDS = 512

/** A journal that stores serialized rows. */
export interface JournalRows<T, F extends PageOptions> extends Omit<Journal<T, F>, 'append'> {
  /** Inserts rows. `ids` are those by which the records can be read, if there are any. */
  insert(rows: readonly EncodedRow[], ids?: readonly string[]): Promise<void>
}

/** The journal of sessions, which can also be read by id. */
export interface SessionRows extends JournalRows<CamelCased<typeof sessionSchema>, SessionFilter> {
  get: SessionJournal['get']
}

/** Records that wait to be written together. */
interface JournalBatch<S extends z.ZodType> {
  readonly drafts: RowDraft<S>[]
  readonly ids: string[]
  entries: number
  readonly written: Promise<void>
  /** Ends the wait with the result of writing. */
  settle(written: Promise<void>): void
}

export interface JournalBufferOptions {
  /** Whether records are written at the end of the current turn of the event loop. */
  isDurable?: boolean
  /** Called when a caller has added many records, which may be in a loop that never yields. */
  onFull?: (() => void) | undefined
  platform?: SqlitePlatform | undefined
}

/** Collects records of one journal and serializes them. Reads see all records that were added before. */
export class JournalBuffer<S extends z.ZodType, F extends PageOptions> implements Journal<CamelCased<S>, F> {
  protected readonly rows: JournalRows<CamelCased<S>, F>
  private readonly table: JournalTable<S, F>
  private readonly options: JournalBufferOptions
  private batch: JournalBatch<S> | undefined
  private timer: unknown
  private readonly platform: SqlitePlatform

  constructor(
    rows: JournalRows<CamelCased<S>, F>,
    table: JournalTable<S, F>,
    options: JournalBufferOptions = {},
  ) {
    this.rows = rows
    this.table = table
    this.options = options
    this.platform = options.platform ?? nodePlatform
  }

  async append(records: readonly CamelCased<S>[]): Promise<void> {
    /** The full batches, and the last one. */
    const full: Promise<void>[] = []
    let last: Promise<void> | undefined
    for (const record of records) {
      const batch = (this.batch ??= this.startBatch())
      last = batch.written
      let draft = batch.drafts.at(-1)
      if (draft === undefined || draft.isFull)
        batch.drafts.push((draft = new RowDraft(this.table as JournalTable<S, never>)))
      draft.add(record)
      const id = this.idOf(record)
      if (id !== undefined) batch.ids.push(id)
      if (++batch.entries < MAX_BATCH_RECORDS) continue
      full.push(last)
      this.flush()
      this.options.onFull?.()
    }
    if (full.length > 0) {
      // No record is written after a call has failed, so it waits for all batches.
      await Promise.allSettled([...full, last])
      await Promise.all(full)
    }
    await last
  }

  /** The id by which a record can be read; undefined if there is none. */
  protected idOf(_record: CamelCased<S>): string | undefined {
    return undefined
  }

  private startBatch(): JournalBatch<S> {
    let settle: (written: Promise<void>) => void = () => {}
    const written = new Promise<void>((resolve) => (settle = resolve))
    // A caller of `append` gets the error; a batch without a caller, whose only record could not be serialized, has none.
    written.catch(() => {})
    if (this.options.isDurable === true) this.platform.runInNextTurn(() => this.flush())
    else this.timer = this.platform.clock.setTimer(() => this.flush(), DEFER_MS)
    return { drafts: [], ids: [], entries: 0, written, settle }
  }

  /** Writes the waiting records. */
  flush(): void {
    const { batch } = this
    if (batch === undefined) return
    this.batch = undefined
    this.platform.clock.clearTimer(this.timer)
    // A draft is empty if its only record could not be serialized.
    const rows = batch.drafts.filter(({ entries }) => entries > 0).map((draft) => draft.encode())
    batch.settle(rows.length === 0 ? Promise.resolve() : this.rows.insert(rows, batch.ids))
  }

  list(filter?: F): Promise<Page<CamelCased<S>>> {
    this.flush()
    return this.rows.list(filter)
  }

  expire(limits: Parameters<Journal<never, F>['expire']>[0]): Promise<number> {
    this.flush()
    return this.rows.expire(limits)
  }

  count(): Promise<number> {
    this.flush()
    return this.rows.count()
  }
}

/** Collects sessions. */
export class SessionBuffer
  extends JournalBuffer<typeof sessionSchema, SessionFilter>
  implements SessionJournal
{
  declare protected readonly rows: SessionRows

  protected override idOf({ sessionId }: CamelCased<typeof sessionSchema>): string {
    return sessionId
  }

  get(id: string): ReturnType<SessionJournal['get']> {
    this.flush()
    return this.rows.get(id)
  }
}
