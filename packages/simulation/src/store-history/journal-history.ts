import { Violation } from '../engine/violation.js'
import { DAY_MS } from './history-clock.js'
import { expectEqual, format, type HistoryContext, type HistoryPart, otherProcess } from './history-part.js'
import {
  type JournalKind,
  journalOf,
  type ModelRecord,
  planRecord,
  planRecordFilter,
  SEVERITIES,
} from './journal-kinds.js'
import type { StoreProcess } from './store-machine.js'

/** How many records a journal keeps. More are deleted. */
const MAX_RECORDS = 30

/** The share of appends with many records, and how many: a store writes large appends in several parts. */
const LARGE_SHARE = 0.1
const LARGE_COUNTS = [512, 513, 600] as const

/**
 * Whether a record is in the journal:
 * - `stored`: it is, also after a power failure;
 * - `unflushed`: it is, and a power failure can lose it;
 * - `undone`: it is not, and a power failure can bring it back, because its removal was not flushed;
 * - `cut`: it is not, and an append can bring it back, because only the end of its line can be missing;
 * - `unknown`: the journal must be read.
 */
type Presence = 'stored' | 'unflushed' | 'undone' | 'cut' | 'unknown'

interface KnownRecord extends ModelRecord {
  presence: Presence
  /** Whether it was `cut`, and is again if it is not found: an append can fail, or be to another file. */
  wasCut?: boolean
}

/** Records of an append that was not acknowledged, in the order in which they are written. */
interface FailedAppend {
  readonly records: readonly KnownRecord[]
  /** After an error everything in one file is undone. The end of a process leaves the first lines. */
  readonly end: 'failed' | 'died'
}

interface ExpiryLimits {
  readonly before?: Date
  readonly maxEntries?: number
}

/** A naive client of one journal of a store. */
export class JournalHistory implements HistoryPart {
  readonly name: string
  private readonly kind: JournalKind
  private readonly context: HistoryContext
  /** All records that can be in the journal, in the order of their appends. */
  private records: KnownRecord[] = []
  private failedAppend: FailedAppend | undefined
  private hasLostPower = false
  /** Whether an append or a deletion was not acknowledged. */
  private hasFailed = false
  private count = 0
  /** The records from this number on were appended after the last deletion. */
  private firstAfterExpiry = 0
  /** The records as they were last listed while a process did not respond. Its deletion can follow when it continues. */
  private oldestWhileStopped: readonly number[] = []

  constructor(kind: JournalKind, context: HistoryContext) {
    this.kind = kind
    this.name = kind.name
    this.context = context
  }

  losePower(): void {
    this.hasLostPower = true
    for (const record of this.records) if (record.presence !== 'stored') record.presence = 'unknown'
  }

  async step(process: StoreProcess): Promise<void> {
    const { choices } = this.context
    if (this.present.length > 2 * MAX_RECORDS) return this.expire(process)
    const chance = choices.random()
    if (chance < 0.5) return this.append(process)
    if (chance < (this.present.length > MAX_RECORDS ? 0.75 : 0.6)) return this.expire(process)
    return this.read(process)
  }

  private get present(): KnownRecord[] {
    return this.records.filter(({ presence }) => presence === 'stored' || presence === 'unflushed')
  }

  /** Appends records, by one call or two in one turn of the event loop. */
  private async append(process: StoreProcess): Promise<void> {
    const { choices, clock, machine } = this.context
    const time = () => clock.now - (choices.chance(0.1) ? choices.below(2 * DAY_MS) : 0)
    const isLarge = choices.chance(LARGE_SHARE)
    const calls = Array.from({ length: isLarge ? 1 : choices.pick([1, 1, 2]) }, () =>
      Array.from({ length: isLarge ? choices.pick(LARGE_COUNTS) : 1 + choices.below(3) }, () => ({
        ...planRecord(choices, this.count++, time()),
        presence: 'unknown' as Presence,
      })),
    )
    const records = calls.flat()
    const onLateSuccess = () => {
      // The process waited for the lock while it did not respond.
      const numbers = new Set(records.map(({ number }) => number))
      this.records = this.records.filter(({ number }) => !numbers.has(number))
      this.records.push(...records.map((record) => ({ ...record, presence: 'stored' as const })))
    }
    const outcomes = await Promise.all(
      calls.map((call) =>
        machine.run(
          process,
          (store) => journalOf(store, this.kind).append(call.map((record) => this.kind.create(record))),
          onLateSuccess,
        ),
      ),
    )
    this.context.trace(
      `${process.name} append of ${records.map(({ number }) => number).join(', ')}: ${outcomes.map(({ kind }) => kind).join(', ')}`,
    )
    for (const record of this.records)
      if (record.presence === 'cut') {
        record.presence = 'unknown'
        record.wasCut = true
      }
    this.records.push(...records)
    for (const [at, { kind }] of outcomes.entries())
      if (kind === 'ok') for (const record of calls[at] ?? []) record.presence = 'stored'
    if (outcomes.every(({ kind }) => kind === 'ok')) return this.checkStored(process)
    this.hasFailed = true
    const hasFailed = outcomes.some(({ kind }) => kind === 'failed')
    const unknown = records.filter(({ presence }) => presence === 'unknown')
    this.failedAppend = { records: this.inWriteOrder(unknown), end: hasFailed ? 'failed' : 'died' }
  }

  /** An acknowledged append is stored as a whole, and not kept in the memory of its process: another process sees it at once. */
  private async checkStored(process: StoreProcess): Promise<void> {
    const other = otherProcess(this.context, process)
    // The end of an earlier append can be uncertain.
    if (other === undefined || this.records.some(({ presence }) => presence === 'unknown')) return
    const outcome = await this.context.machine.run(other, (store) => journalOf(store, this.kind).count())
    if (outcome.kind === 'ok')
      this.expectEqual('count in another process', outcome.value, this.present.length)
  }

  /** Transactions have the records in the order of the append. Files are written one after the other. */
  private inWriteOrder(records: readonly KnownRecord[]): readonly KnownRecord[] {
    if (this.context.machine.transactionSize !== undefined) return records
    const files = [...new Set(records.map((record) => this.fileOf(record)))]
    return files.flatMap((file) => records.filter((record) => this.fileOf(record) === file))
  }

  private fileOf({ severity, time }: ModelRecord): string {
    return `${this.kind.hasFolders ? severity : ''} ${Math.floor(time / DAY_MS)}`
  }

  /** Deletes records by their age, by their number, or both. */
  private async expire(process: StoreProcess): Promise<void> {
    const { choices, clock, machine } = this.context
    const isCrowded = this.present.length > MAX_RECORDS
    const before = choices.chance(0.25)
      ? clock.now + DAY_MS
      : choices.chance(0.6)
        ? (choices.pick(this.present)?.time ?? clock.now) + choices.pick([-1, 0, 1])
        : undefined
    const maxEntries = isCrowded || choices.chance(0.4) ? choices.below(15) : undefined
    const limits = {
      ...(before !== undefined && { before: new Date(before) }),
      ...(maxEntries !== undefined && { maxEntries }),
    }
    const oldest = await this.list(process, { order: 'oldest' })
    if (oldest === undefined) return
    const deleted = this.expiredRecords(oldest, limits)
    const outcome = await machine.run(
      process,
      (store) => journalOf(store, this.kind).expire(limits),
      // The process waited for the lock while it did not respond, so the limits apply to what others have appended meanwhile.
      (count) => this.onExpired(limits, count, this.expiredRecords(this.oldestWhileStopped, limits)),
    )
    this.context.trace(`${process.name} expire of ${this.name} ${format(limits)}: ${outcome.kind}`)
    if (outcome.kind === 'ok') this.onExpired(limits, outcome.value, deleted)
    else {
      this.firstAfterExpiry = this.count
      this.hasFailed = true
      for (const record of deleted) record.presence = 'unknown'
    }
  }

  /** The records that a deletion deletes from a journal whose records are listed in this order. */
  private expiredRecords(oldest: readonly number[], { before, maxEntries }: ExpiryLimits): Set<KnownRecord> {
    const byNumber = new Map(this.present.map((record) => [record.number, record]))
    const ordered = oldest.flatMap((number) => byNumber.get(number) ?? [])
    const isOld = ({ time }: ModelRecord) => before !== undefined && time < before.getTime()
    const kept = ordered.filter((record) => !isOld(record))
    const surplus = kept.slice(0, Math.max(0, kept.length - (maxEntries ?? Number.POSITIVE_INFINITY)))
    return new Set([...ordered.filter(isOld), ...surplus])
  }

  /** A deletion was acknowledged. */
  private onExpired(limits: ExpiryLimits, count: number, deleted: ReadonlySet<KnownRecord>): void {
    this.firstAfterExpiry = this.count
    this.expectEqual(`expire of ${format(limits)}`, count, deleted.size)
    this.records = this.records.filter((record) => !deleted.has(record))
    this.checkFiles()
  }

  /** A file is deleted with the last of its records, unless it has a partial line. */
  private checkFiles(): void {
    if (this.records.length > 0 || this.hasFailed) return
    const folders = this.kind.hasFolders ? SEVERITIES.map((name) => ['logs', name]) : [[this.kind.folder]]
    const left = folders.flatMap((folder) => this.context.machine.fileNames?.(...folder) ?? [])
    const file = left.find((name) => name.includes('.jsonl'))
    if (file !== undefined) this.report(`all records were deleted, and ${file} is left`)
  }

  private async read(process: StoreProcess): Promise<void> {
    const { choices, machine } = this.context
    const { present } = this
    const chance = choices.random()
    if (chance < 0.2) {
      const outcome = await machine.run(process, (store) => journalOf(store, this.kind).count())
      if (outcome.kind === 'ok') this.expectEqual('count', outcome.value, present.length)
      return
    }
    if (chance < 0.4 && this.kind.name === 'sessions') {
      const number = choices.below(this.count + 1)
      const outcome = await machine.run(process, ({ sessions }) => sessions.get(`session-${number}`))
      if (outcome.kind === 'ok')
        this.expectEqual(
          `get of session-${number}`,
          outcome.value?.sessionId,
          present.some((record) => record.number === number) ? `session-${number}` : undefined,
        )
      return
    }
    const { filter, matches } = planRecordFilter(this.kind, choices, present)
    const order = choices.pick(['oldest', 'newest'] as const)
    const listed = await this.list(process, { ...filter, order })
    if (listed === undefined) return
    const what = `list of ${format({ ...filter, order })}`
    const numbers = order === 'oldest' ? listed : listed.toReversed()
    this.expectEqual(
      what,
      numbers.toSorted(byValue),
      present
        .filter(matches)
        .map(({ number }) => number)
        .toSorted(byValue),
    )
    this.checkOrder(what, numbers)
  }

  /** Lists all pages; undefined if that failed. */
  private async list(process: StoreProcess, filter: object): Promise<number[] | undefined> {
    const limit = this.present.length > 2 * MAX_RECORDS ? 500 : this.context.choices.pick([1, 2, 5, 100])
    const outcome = await this.context.machine.run(process, async (store) => {
      const journal = journalOf(store, this.kind)
      const numbers: number[] = []
      let cursor: string | undefined
      do {
        const page = await journal.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) })
        if (page.items.length > limit || (page.cursor !== undefined && page.items.length < limit))
          this.context.report(
            new Violation(
              'records',
              `a page of ${this.name} has ${page.items.length} records, limit ${limit}`,
            ),
          )
        numbers.push(...page.items.map((record) => this.kind.numberOf(record)))
        cursor = page.cursor
      } while (cursor !== undefined && numbers.length < 2000)
      return numbers
    })
    return outcome.kind === 'ok' ? outcome.value : undefined
  }

  /** Records of one file are in the order of their appends. After a deletion, records of one day can be in two files. */
  private checkOrder(what: string, numbers: readonly number[]): void {
    const byNumber = new Map(this.present.map((record) => [record.number, record]))
    const lastByFile = new Map<string, number>()
    for (const number of numbers) {
      const record = byNumber.get(number)
      if (record === undefined || number < this.firstAfterExpiry) continue
      const file = this.fileOf(record)
      const last = lastByFile.get(file) ?? -1
      const isLate =
        this.records.findIndex((each) => each.number === number) <
        this.records.findIndex((each) => each.number === last)
      if (isLate) this.report(`${what} returned ${last} before ${number}, which was appended earlier`)
      lastByFile.set(file, number)
    }
  }

  /** Reads the journal after a failure, or while a process does not respond, and checks which records it has. */
  async resolve(process: StoreProcess): Promise<void> {
    const isStopped = this.context.machine.stopped !== undefined
    if (!isStopped && this.records.every(({ presence }) => presence !== 'unknown')) {
      this.failedAppend = undefined
      this.hasLostPower = false
      return
    }
    const listed = await this.list(process, { order: 'oldest' })
    if (listed === undefined) return
    if (isStopped) this.oldestWhileStopped = listed
    const found = new Set(listed)
    const wanted = this.records.filter(({ presence }) => presence === 'stored' || presence === 'unflushed')
    const missing = wanted.find(({ number }) => !found.has(number))
    if (missing !== undefined) this.report(`record ${missing.number} was acknowledged and is not listed`)
    const possible = new Set(
      this.records
        .filter(({ presence }) => presence !== 'undone' && presence !== 'cut')
        .map(({ number }) => number),
    )
    const extra = listed.find((number) => !possible.has(number))
    if (extra !== undefined) this.report(`record ${extra} is listed, and was deleted or never appended`)
    if (found.size < listed.length) this.report(`a record is listed twice: ${listed.join(', ')}`)
    const cut = this.hasLostPower ? undefined : this.checkFailedAppend(found)
    for (const record of this.records) {
      if (record.presence !== 'unknown') continue
      const isFound = found.has(record.number)
      if (this.hasLostPower) record.presence = isFound ? 'stored' : 'cut'
      else record.presence = isFound ? 'unflushed' : record === cut || record.wasCut ? 'cut' : 'undone'
    }
    this.failedAppend = undefined
    this.hasLostPower = false
  }

  /**
   * Checks which records of an append have remained. An error undoes everything in its file, and the end of a process leaves the first
   * lines. Returns the record whose line can have been cut.
   */
  private checkFailedAppend(found: ReadonlySet<number>): KnownRecord | undefined {
    if (this.failedAppend === undefined) return undefined
    const { records, end } = this.failedAppend
    const isFound = records.map(({ number }) => found.has(number))
    if (this.context.machine.transactionSize !== undefined) return this.checkTransactions(isFound, end)
    const count = isFound.lastIndexOf(true) + 1
    const next = records[count]
    const last = records[count - 1]
    const isSplit = next !== undefined && last !== undefined && this.fileOf(next) === this.fileOf(last)
    const isLastFile = count === records.length && count > 0
    const isWrong = isFound.slice(0, count).includes(false) || (end === 'failed' && (isSplit || isLastFile))
    if (isWrong)
      this.report(
        `an append of ${records.map(({ number }) => number).join(', ')} ${end}, and the journal has ${records
          .filter((_, at) => isFound[at])
          .map(({ number }) => number)
          .join(', ')} of them`,
      )
    return end === 'died' ? next : undefined
  }

  /** Each transaction of an append is stored completely or not at all. After an error one of them is missing. */
  private checkTransactions(isFound: readonly boolean[], end: FailedAppend['end']): undefined {
    const { transactionSize = isFound.length } = this.context.machine
    const isSplit = isFound.some((stored, at) => at % transactionSize > 0 && stored !== isFound[at - 1])
    if (isSplit || (end === 'failed' && !isFound.includes(false)))
      this.report(
        `an append of ${isFound.length} records ${end}, and the journal has ${isFound.filter(Boolean).length} of them`,
      )
  }

  private expectEqual(what: string, got: unknown, wanted: unknown): void {
    expectEqual(this.context, 'records', `${what} of ${this.name}`, got, wanted)
  }

  private report(text: string): void {
    this.context.report(new Violation('records', `${this.name} of a store: ${text}`))
  }
}

const byValue = (a: number, b: number): number => a - b
