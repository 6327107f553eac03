import { deadLetterCodec } from '@holdfast/records'
import fc from 'fast-check'
import { hashOf } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { encodeBreaker } from '../../src/breaker-codec.js'
import { DeadLetterAliases } from '../../src/postgres/aliases.js'
import { PostgresBreakers } from '../../src/postgres/breakers.js'
import type { PostgresDatabase } from '../../src/postgres/database.js'
import { type PostgresDeadLetterRow, readableDeadLetters } from '../../src/postgres/dead-letter-rows.js'
import { PostgresJournal, PostgresSessions } from '../../src/postgres/journal.js'
import {
  auditJournal,
  breakerEventJournal,
  errorJournal,
  eventJournal,
  sessionJournal,
} from '../../src/postgres/journal-tables.js'
import { PostgresLayers } from '../../src/postgres/layers.js'
import { PostgresMetrics } from '../../src/postgres/metrics.js'
import { PostgresValues } from '../../src/postgres/values.js'
import { hashName } from '../../src/text.js'
import { at, audit, breakerEvent, errorRecord, event, session, storedBreaker } from '../contract/records.js'

type Row = Readonly<Record<string, string | number | null>>

/** One kind of row: three valid rows, of which a case damages the second, and the method that reads them. */
interface RowKind {
  readonly table: string
  readonly rows: readonly [Row, Row, Row]
  /** The columns with text that a case replaces. */
  readonly texts: readonly string[]
  /** The columns of the type bigint, which hold no other text than a number. */
  readonly numbers?: readonly string[]
  /** What identifies a row in the report about it. */
  keyOf(row: Row): string | number
  /** Reads the rows, and returns one value per row that can be read. @throws if a value is not valid */
  read(database: PostgresDatabase): Promise<unknown[]>
}

const rowsOf = (create: (n: number) => Row): readonly [Row, Row, Row] => [create(1), create(2), create(3)]

function assertTime(time: unknown, name: string): void {
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) throw new Error(`${name} is not a valid time`)
}

/** Fails for an entry that a caller, the API or a worker could not use. */
function checkDeadLetter(entry: ReturnType<typeof readableDeadLetters>[number]['entry']): void {
  for (const name of ['dlqId', 'itemId', 'operationType', 'idempotencyKey', 'policyId'] as const)
    if (typeof entry[name] !== 'string') throw new Error(`an entry whose ${name} is not a text`)
  if (!['pending', 'replaying', 'completed', 'failed'].includes(entry.status))
    throw new Error('an entry with an unknown status')
  assertTime(entry.createdAt, 'createdAt')
  assertTime(entry.lastAttempt, 'lastAttempt')
  for (const name of ['replayedAt', 'leasedUntil', 'replayRequestedAt'] as const)
    if (entry[name] !== null && entry[name] !== undefined) assertTime(entry[name], name)
  const { errorType, errorMessage, retryCount } = entry.errorDetails
  if (typeof errorType !== 'string' || typeof errorMessage !== 'string' || typeof retryCount !== 'number')
    throw new Error('an entry without its error')
  JSON.stringify(deadLetterCodec.encode(entry))
}

const DEAD_LETTERS: RowKind = {
  table: 'dead_letters',
  // As the driver returns it: bigint columns are texts.
  rows: rowsOf((n) => ({
    seq: `${n}`,
    id: `6f2d7a1e-0000-4000-8000-00000000000${n}`,
    dlq_id: `dlq_${n}`,
    operation: '6f2d7a1e-0000-4000-8000-000000000009',
    operation_type: 'gmail.fetch',
    item_id: `item ${n}`,
    status: 'pending',
    created_at: '1768478400000',
    last_attempt: '1768478400000',
    replayed_at: null,
    leased_until: null,
    lease_owner: null,
    replay_requested_at: null,
    change: '1',
    error_details: '{"error_type":"Error","error_message":"boom","retry_count":0}',
    rest: `{"schema":"1.1","idempotency_key":"key ${n}","policy_id":"default"}`,
    original_payload: '{"a":1}',
    edited_payload: null,
  })),
  texts: [
    'rest',
    'error_details',
    'original_payload',
    'edited_payload',
    'dlq_id',
    'item_id',
    'lease_owner',
    'status',
    'operation_type',
  ],
  numbers: ['created_at', 'last_attempt', 'replayed_at', 'leased_until', 'replay_requested_at'],
  keyOf: (row) => row['dlq_id'] as string,
  async read(database) {
    const rows = await database.read((sql) => sql.all<PostgresDeadLetterRow>(''))
    const entries = readableDeadLetters(database, rows)
    for (const { entry } of entries) checkDeadLetter(entry)
    return entries
  },
}

/** A journal, read as a list. Sessions are also read by their id. */
const journalKind = (
  table: string,
  bodyOf: (n: number) => unknown,
  create: (database: PostgresDatabase) => { list(): Promise<{ items: unknown[] }> },
): RowKind => ({
  table,
  rows: rowsOf((n) => ({ seq: `${n}`, body: JSON.stringify(bodyOf(n)) })),
  texts: ['body'],
  keyOf: ({ seq }) => Number(seq),
  async read(database) {
    const { items } = await create(database).list()
    return items
  },
})

const KINDS: readonly RowKind[] = [
  DEAD_LETTERS,
  journalKind(
    'sessions',
    (n) => sessionJournal.codec.encode(session(n)),
    (database) => new PostgresSessions(database, sessionJournal),
  ),
  journalKind(
    'events',
    (n) => eventJournal.codec.encode(event(n)),
    (database) => new PostgresJournal(database, eventJournal),
  ),
  journalKind(
    'errors',
    (n) => errorJournal.codec.encode(errorRecord(n)),
    (database) => new PostgresJournal(database, errorJournal),
  ),
  journalKind(
    'audit',
    (n) => auditJournal.codec.encode(audit(n)),
    (database) => new PostgresJournal(database, auditJournal),
  ),
  journalKind(
    'breaker_events',
    (n) => breakerEventJournal.codec.encode(breakerEvent(n)),
    (database) => new PostgresJournal(database, breakerEventJournal),
  ),
  {
    table: 'circuit_breaker_states',
    rows: rowsOf((n) => ({
      id: `policy:${n}`,
      body: JSON.stringify(encodeBreaker(storedBreaker(`policy:${n}`))),
    })),
    texts: ['body'],
    keyOf: ({ id }) => id as string,
    async read(database) {
      const breakers = await new PostgresBreakers(database).load()
      for (const { snapshot, createdAt, updatedAt } of breakers) {
        assertTime(createdAt, 'createdAt')
        assertTime(updatedAt, 'updatedAt')
        if (!['closed', 'open', 'half_open'].includes(snapshot.state))
          throw new Error('a breaker with an unknown state')
      }
      return breakers
    },
  },
  {
    table: 'config_layers',
    rows: rowsOf((n) => ({
      version: 4 - n,
      changed_by: 'me',
      reason: null,
      at: `${at(n).getTime()}`,
      layer: '{}',
    })),
    texts: ['layer', 'changed_by', 'reason'],
    numbers: ['at'],
    keyOf: ({ version }) => version as number,
    async read(database) {
      const layers = new PostgresLayers(database)
      const versions = await layers.history()
      for (const version of versions) assertTime(version.at, 'the time of a version')
      if ((await layers.latest())?.version !== 3) throw new Error('the latest version is lost')
      return versions
    },
  },
  {
    table: 'metrics',
    rows: rowsOf((n) => ({ series: 'minute:total', start: `${n}`, node: 'a', data: '{}' })),
    texts: ['data', 'node'],
    keyOf: ({ series, start }) => `${series} ${start}`,
    read: (database) => new PostgresMetrics(database).load({ from: 0, to: 100 }),
  },
  {
    table: 'named_values',
    rows: rowsOf((n) => ({ key: `key ${n}`, value: '{}' })),
    texts: ['value'],
    keyOf: ({ key }) => key as string,
    async read(database) {
      const values = new PostgresValues(database)
      // The rows of a query by key begin with the valid one.
      if ((await values.get('key 1')) === undefined) throw new Error('another value is lost')
      return values.list('')
    },
  },
  {
    table: 'named_values',
    rows: rowsOf((n) => ({ id: hashName(`dead_letter_alias:${n}`), value: `"dlq_${n}"` })),
    texts: ['value'],
    keyOf: () => 'dead_letter_alias:2',
    async read(database) {
      const aliases = await new DeadLetterAliases(database).find(['1', '2', '3'])
      if (aliases.get('1') !== 'dlq_1' || aliases.get('3') !== 'dlq_3') throw new Error('an alias is lost')
      for (const id of aliases.values())
        if (typeof id !== 'string') throw new Error('an alias of something else than an id')
      return [...aliases]
    },
  },
]

/** Every column that a case can damage. Those of dead letters are first. */
const PLACES = KINDS.flatMap((kind) => [
  ...kind.texts.map((column) => ({ kind, column, isNumber: false })),
  ...(kind.numbers ?? []).map((column) => ({ kind, column, isNumber: true })),
])

/** A database whose queries return these rows, and that collects the reports about damaged rows. */
const databaseWith = (rows: readonly Row[], reported: string[]): PostgresDatabase =>
  ({
    table: (name: string) => name,
    read: (query: (sql: object) => unknown) => Promise.resolve(query({ all: async () => rows })),
    unreadableRows: { report: (table: string, key: number | string) => reported.push(`${table} ${key}`) },
  }) as unknown as PostgresDatabase

const wire = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    'null',
    '{}',
    '"x"',
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{}}}',
    '[',
    '\\u0000',
    '"\\ud800"',
    ...KINDS.flatMap(({ rows: [row] }) => Object.values(row).filter((value) => typeof value === 'string')),
  ),
  fc.string({ maxLength: 30 }),
)

/** The value of a bigint column, by the bytes of a case: any number of 64 bits, and often one near a valid time. */
const numberOf = (bytes: Buffer): string => {
  const hash = BigInt(hashOf(bytes))
  return `${BigInt.asIntN(64, hash % 2n === 0n ? hash * hash : (hash % 5n) * 4_320_000_000_000_000n + hash)}`
}

/** Rows of PostgreSQL of every table: a damaged one is skipped and reported by its key, and the others are read. */
export const target: FuzzTarget = {
  name: 'postgres-rows',
  cases: fc
    .tuple(fc.integer({ min: 0, max: 255 }), wire)
    .map(([place, text]) => Buffer.concat([Buffer.from([place]), Buffer.from(text)])),
  dictionary: [
    'null',
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '"__proto__":',
    '1e999',
    '\\u0000',
    '"schema":"1.1"',
    '"timestamp":"2026-01-15T12:00:00.000Z"',
  ],
  open: async () => {
    const counts = { read: 0, skipped: 0 }
    return {
      async check(bytes) {
        const place = PLACES[(bytes[0] ?? 0) % PLACES.length] as (typeof PLACES)[number]
        const { kind, column, isNumber } = place
        const text = isNumber ? numberOf(bytes) : bytes.toString('utf8', 1)
        const [first, second, third] = kind.rows
        const damaged = { ...second, [column]: text }
        const reported: string[] = []
        const found = await kind.read(databaseWith([first, damaged, third], reported))
        const unique = new Set(reported)
        const name = `${kind.table}.${column}`
        if (found.length + unique.size !== 3)
          throw new Error(`${name}: ${found.length} rows are read and ${unique.size} reported`)
        if (unique.size > 0 && column !== 'dlq_id' && !unique.has(`${kind.table} ${kind.keyOf(damaged)}`))
          throw new Error(`${name}: the report names another row`)
        if (Object.keys(Object.prototype).length > 0 || 'polluted' in Object.prototype)
          throw new Error('the prototype of objects has new keys')
        counts[unique.size === 0 ? 'read' : 'skipped']++
      },
      async close() {
        const cases = counts.read + counts.skipped
        // Otherwise the cases reach only one of the two branches.
        if (cases > 500 && Math.min(counts.read, counts.skipped) < cases / 50)
          throw new Error(`${counts.read} damaged rows were read and ${counts.skipped} skipped`)
      },
    }
  },
}
