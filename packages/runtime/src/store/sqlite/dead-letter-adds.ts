import type { DeadLetter } from '../../records/dead-letter.js'
import { samePayload } from '../payload.js'
import type { Added } from '../store.js'
import type { Commits } from './commits.js'
import type { Connection } from './connection.js'
import { COLUMNS, columnsOf, count, find, noteProcessed, payloadText } from './dead-letter-rows.js'
import type { Value } from './driver.js'

/** How many entries, or characters of them, one job adds: others have their turn after it. */
const JOB = { entries: 256, size: 2 ** 20 } as const

/** How many rows one statement inserts: calling a statement costs more than a row. */
const ROWS = 8

interface Waiting {
  entry: DeadLetter
  row: Value[]
  maxEntries: number
  result: Added | undefined
}

interface Batch {
  waiting: Waiting[]
  size: number
  written: Promise<void>
}

const ROW = `(${COLUMNS.map(() => '?').join(', ')})`
const INSERT = `INSERT INTO dead_letters (${COLUMNS.join(', ')}) VALUES `
const INSERT_ONE = INSERT + ROW
/** Where one of them is there already, it is left out. */
const INSERT_MANY = `${INSERT}${Array(ROWS).fill(ROW).join(', ')} ON CONFLICT DO NOTHING`

/** Adds entries. Whatever is to be added within a turn is added by one job, and so in one transaction. */
export class DeadLetterAdds {
  private readonly commits: Commits
  private batch: Batch | undefined

  constructor(commits: Commits) {
    this.commits = commits
  }

  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Added[]> {
    const waiting = entries.map((entry): Waiting => {
      const payload = payloadText(entry.originalPayload)
      return { entry, row: [...columnsOf(entry, null), payload], maxEntries, result: undefined }
    })
    const batches = new Set<Promise<void>>()
    for (const one of waiting) {
      const batch = (this.batch ??= this.begin())
      batch.waiting.push(one)
      batch.size += (one.row.at(-1) as string).length
      batches.add(batch.written)
      if (batch.waiting.length >= JOB.entries || batch.size >= JOB.size) this.batch = undefined
    }
    await Promise.all(batches)
    return waiting.map(({ result }) => result as Added)
  }

  private begin(): Batch {
    const batch: Batch = { waiting: [], size: 0, written: Promise.resolve() }
    const end = () => {
      if (this.batch === batch) this.batch = undefined
    }
    batch.written = this.commits.write(() => {
      // From now on it takes no more, whether or not this comes to anything.
      end()
      insertAll(this.commits.sql, batch.waiting)
    })
    batch.written.catch(end)
    return batch
  }
}

function insertAll(sql: Connection, waiting: readonly Waiting[]): void {
  const { open } = sql.get<{ open: number | null }>(
    "SELECT sum(entries) AS open FROM dead_letter_counts WHERE status <> 'completed'",
  ) as { open: number | null }
  const tally = new Tally(open ?? 0)
  for (let at = 0; at < waiting.length; at += ROWS) {
    const some = waiting.slice(at, at + ROWS)
    if (!insertTogether(sql, some, tally)) for (const one of some) one.result = insertOne(sql, one, tally)
  }
  tally.write(sql)
}

/** The usual case: there is room, and none of them is there already. Undoes what it did and says no in any other. */
function insertTogether(sql: Connection, some: readonly Waiting[], tally: Tally): boolean {
  if (some.length < ROWS || some.some(({ maxEntries }) => tally.open + ROWS > maxEntries)) return false
  const { last } = sql.get<{ last: number | null }>('SELECT max(seq) AS last FROM dead_letters') as {
    last: number | null
  }
  const added = sql.statement(INSERT_MANY).run(some.flatMap(({ row }) => row))
  if (added < ROWS) {
    if (added > 0) sql.run('DELETE FROM dead_letters WHERE seq > ?', last ?? 0)
    return false
  }
  for (const one of some) one.result = admitted(sql, one.entry, tally)
  return true
}

function insertOne(sql: Connection, { entry, row, maxEntries }: Waiting, tally: Tally): Added {
  const same = find(sql, 'idempotency_key', entry.idempotencyKey) ?? find(sql, 'dlq_id', entry.dlqId)
  if (same !== undefined) {
    const known = samePayload(same.entry.originalPayload, entry.originalPayload)
    return { result: known ? 'known' : 'conflict', entry: same.entry }
  }
  if (tally.open >= maxEntries) return { result: 'full' }
  sql.statement(INSERT_ONE).run(row)
  return admitted(sql, entry, tally)
}

function admitted(sql: Connection, entry: DeadLetter, tally: Tally): Added {
  tally.add(entry)
  if (entry.status === 'completed') noteProcessed(sql, entry)
  return { result: 'added', entry }
}

/** Counts what a job adds, and writes it down once. */
class Tally {
  /** How many entries are not completed. */
  open: number
  private readonly added = new Map<string, Map<string, number>>()

  constructor(open: number) {
    this.open = open
  }

  add({ operationType, status }: DeadLetter): void {
    if (status !== 'completed') this.open++
    let own = this.added.get(operationType)
    if (own === undefined) this.added.set(operationType, (own = new Map()))
    own.set(status, (own.get(status) ?? 0) + 1)
  }

  write(sql: Connection): void {
    for (const [operation, own] of this.added)
      for (const [status, entries] of own) count(sql, operation, status, entries)
  }
}
