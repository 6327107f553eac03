import type { SqliteDriver, SqliteStatement } from '../../../store/src/sqlite/driver.js'
import { createSqliteError, type SimulatedDatabase, type StatementKind } from './simulated-database.js'

/** Changes that are durable when the store acknowledges them. Old records and versions are deleted without a flush. */
const DURABLE_CHANGES = [
  /^\s*INSERT .*?\bINTO\s+(dead_letters|processed_ids|audit|config_layers|named_values)\b/is,
  /^\s*UPDATE\s+(dead_letters|config_layers|named_values)\b/i,
  /^\s*DELETE FROM\s+(dead_letters|processed_ids|named_values)\b/i,
]

/** The table that a statement changes, if the change must be durable. */
const durableTableOf = (sql: string): string | undefined =>
  DURABLE_CHANGES.map((pattern) => pattern.exec(sql)?.[1]).find((table) => table !== undefined)

/** How long a statement takes at most, so that transactions exceed their budget of time. */
const MAX_STATEMENT_MS = 1

const kindOf = (sql: string): StatementKind => {
  if (/^\s*BEGIN/i.test(sql)) return 'begin'
  if (/^\s*COMMIT/i.test(sql)) return 'commit'
  if (/^\s*SELECT/i.test(sql)) return 'read'
  return /^\s*(?:INSERT|UPDATE|DELETE)/i.test(sql) ? 'write' : 'other'
}

/** A value of `PRAGMA synchronous` that flushes each commit. */
const FLUSHES = /^PRAGMA synchronous = (?:FULL|EXTRA)$/i
const DOES_NOT_FLUSH = /^PRAGMA synchronous = (?:NORMAL|OFF)$/i
const SETS_CHECKPOINTS = /^PRAGMA wal_autocheckpoint/i
const CHECKPOINT = /^PRAGMA wal_checkpoint/i

/** The error of a statement of code that still runs after its process or thread has ended. No caller gets it. */
const createEndedError = () => new Error('the thread has ended')

/** Is called with the kind of a statement. */
export type OnStatement = (kind: StatementKind) => void

/**
 * The connections of one process or thread to a file. They end with it: open transactions are rolled back, and no statement of code
 * that still runs has an effect.
 */
export class ConnectionLife {
  isAlive = true
  /** The time that statements took, in milliseconds. */
  busyMs = 0
  /** Called before each statement. It can throw an error of SQLite. */
  private readonly onStatement: OnStatement | undefined
  private readonly database: SimulatedDatabase
  private readonly open = new Set<SqliteDriver>()

  constructor(database: SimulatedDatabase, onStatement?: OnStatement) {
    this.database = database
    this.onStatement = onStatement
  }

  end(): void {
    this.isAlive = false
    for (const driver of this.open) {
      try {
        driver.exec('ROLLBACK')
      } catch {
        // No transaction is open.
      }
      driver.close()
    }
    this.open.clear()
  }

  /** Opens a connection whose statements can fail. */
  connect(): SqliteDriver {
    if (!this.isAlive) throw createEndedError()
    const { database } = this
    database.mayFail('other')
    const real = database.open()
    this.open.add(real)
    // The default of SQLite.
    let isFlushing = true
    let isInTransaction = false
    /** Whether all statements fail until the store connects again, as after some errors of the disk. */
    let isBroken = false
    /** The durable tables that the open transaction has changed. */
    const changed = new Set<string>()

    /** Runs a statement. An error of a statement can end the transaction. */
    const run = <T>(kind: StatementKind, table: string | undefined, work: () => T): T => {
      if (!this.isAlive) throw createEndedError()
      this.busyMs += database.random() * MAX_STATEMENT_MS
      if (kind === 'commit') database.beforeCommit()
      if (!this.isAlive) throw createEndedError()
      try {
        if (isBroken) throw createSqliteError('SQLITE_IOERR', 'disk I/O error')
        this.onStatement?.(kind)
        database.mayFail(kind)
      } catch (error) {
        isBroken ||= (error as { code?: unknown }).code === 'SQLITE_IOERR' && database.random() < 0.5
        const endsTransaction = kind === 'commit' || database.random() < 0.3
        if (isInTransaction && endsTransaction) {
          real.exec('ROLLBACK')
          isInTransaction = false
        }
        throw error
      }
      if (kind === 'begin') changed.clear()
      if (table !== undefined) changed.add(table)
      const result = work()
      if (kind === 'begin') isInTransaction = true
      const isCommitted = kind === 'commit' || (kind === 'write' && !isInTransaction)
      if (kind === 'commit') isInTransaction = false
      if (isCommitted) database.onCommitted(real, isFlushing, changed)
      return result
    }

    return {
      exec: (sql) => {
        if (FLUSHES.test(sql)) isFlushing = true
        else if (DOES_NOT_FLUSH.test(sql)) isFlushing = false
        else if (SETS_CHECKPOINTS.test(sql)) real.exec('PRAGMA wal_autocheckpoint = 0')
        else if (/^ROLLBACK/i.test(sql)) {
          if (!this.isAlive) throw createEndedError()
          isInTransaction = false
          real.exec(sql)
        } else
          run(kindOf(sql), undefined, () => {
            real.exec(sql)
            if (CHECKPOINT.test(sql)) database.onCheckpoint()
          })
      },
      prepare: (sql) => {
        if (!this.isAlive) throw createEndedError()
        const kind = kindOf(sql)
        const table = kind === 'write' ? durableTableOf(sql) : undefined
        const statement: SqliteStatement = real.prepare(sql)
        return {
          run: (values) => run(kind, table, () => statement.run(values)),
          get: (values) => run(kind, table, () => statement.get(values)),
          all: (values) => run(kind, table, () => statement.all(values)),
        }
      },
      close: () => {
        if (!this.open.delete(real)) return
        real.close()
      },
    }
  }
}
