import type { DeadLetter } from '../../records/dead-letter.js'
import { samePayload } from '../payload.js'
import type { Added } from '../store.js'
import { hashOf, toColumn } from '../text.js'
import type { Commits } from './commits.js'
import type { Connection } from './connection.js'
import {
  CHANGING,
  changing,
  count,
  FIXED,
  findId,
  findKey,
  fixed,
  noteProcessed,
} from './dead-letter-rows.js'
import type { Value } from './driver.js'

/** How many entries, or characters of them, one job adds: others have their turn after it. */
const JOB = { entries: 512, size: 2 ** 20 } as const

/** How many rows one statement inserts: calling a statement costs more than a row. */
const ROWS = 16

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

const COLUMNS = [...CHANGING, ...FIXED]
const ROW = `(${COLUMNS.map(() => '?').join(', ')})`
/** An id that is there already is left out. */
const insertion = (rows: number) =>
  `INSERT INTO dead_letters (${COLUMNS.join(', ')}) VALUES ${Array(rows).fill(ROW).join(', ')} ON CONFLICT DO NOTHING`
const INSERT_ONE = insertion(1)
const INSERT_MANY = insertion(ROWS)

/** Adds entries. Whatever is to be added within a turn is added by one job, and so in one transaction. */
export class DeadLetterAdds {
  private readonly commits: Commits
  private batch: Batch | undefined

  constructor(commits: Commits) {
    this.commits = commits
  }

  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Added[]> {
    const waiting = entries.map(
      (entry): Waiting => ({
        entry,
        row: [...changing(entry, null), ...fixed(entry)],
        maxEntries,
        result: undefined,
      }),
    )
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
  const keys = keysThere(sql, waiting)
  let group: Waiting[] = []
  const insert = () => {
    insertGroup(sql, group, tally)
    group = []
  }
  for (const one of waiting) {
    const key = toColumn(one.entry.idempotencyKey)
    const usual = !keys.has(key) && tally.open + group.length < one.maxEntries
    keys.add(key)
    if (usual) group.push(one)
    if (!usual || group.length === ROWS) insert()
    if (!usual) one.result = insertOne(sql, one, tally)
  }
  insert()
  tally.write(sql)
}

/** Those of the idempotency keys that may be there already. */
function keysThere(sql: Connection, waiting: readonly Waiting[]): Set<string> {
  const hashes = waiting.map(({ entry }) => hashOf(entry.idempotencyKey))
  const rows = sql.all<{ key: string }>(
    'SELECT idempotency_key AS key FROM dead_letters WHERE key_hash IN (SELECT value FROM json_each(?))',
    JSON.stringify(hashes),
  )
  return new Set(rows.map(({ key }) => key))
}

/** The usual case: there is room for them, and nobody has their keys. */
function insertGroup(sql: Connection, group: readonly Waiting[], tally: Tally): void {
  if (group.length === ROWS && insertTogether(sql, group)) {
    for (const one of group) one.result = admitted(sql, one.entry, tally)
    return
  }
  for (const one of group) one.result = insertOne(sql, one, tally, true)
}

/** Undoes what it did and says no where one of the ids is there already. */
function insertTogether(sql: Connection, group: readonly Waiting[]): boolean {
  const { last } = sql.get<{ last: number | null }>('SELECT max(seq) AS last FROM dead_letters') as {
    last: number | null
  }
  const inserted = sql.statement(INSERT_MANY).run(group.flatMap(({ row }) => row))
  if (inserted > 0 && inserted < ROWS) sql.run('DELETE FROM dead_letters WHERE seq > ?', last ?? 0)
  return inserted === ROWS
}

function insertOne(sql: Connection, { entry, row, maxEntries }: Waiting, tally: Tally, fresh = false): Added {
  if (fresh && sql.statement(INSERT_ONE).run(row) === 1) return admitted(sql, entry, tally)
  const same = findKey(sql, entry.idempotencyKey) ?? findId(sql, entry.dlqId)
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
