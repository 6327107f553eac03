import { COMMIT, ROLLBACK } from '../../../../store/src/postgres/statements/connection.js'
import { ALIAS_STATEMENT, executeOnAliases } from './alias-rows.js'
import { JOURNAL_STATEMENT } from './journal-statements.js'
import { LAYER_STATEMENT, prepareLayerStatement } from './layer-rows.js'
import { PostgresError } from './postgres-error.js'
import type { PostgresCommand, SimulatedPostgres } from './server.js'

/** The statement that executes a command, and the one that returns the result of a command that was committed. */
export const EXECUTE = 'EXECUTE COMMAND'
export const SELECT_RESULT = 'SELECT RESULT'

/** Records of a journal, as the server has inserted or lost them. */
interface JournalReport {
  /** The table of the journal. */
  readonly table: string
  /** The records as JSON. */
  readonly bodies: readonly string[]
}

/** What a server has done for a client. */
export interface PostgresObserver {
  /** Records were committed. `isLate` if the client had already given up the connection. */
  onInserted?(report: JournalReport, isLate: boolean): void
  /** Records were lost in a crash, because their commit was not flushed. */
  onLost?(report: JournalReport): void
  /** A client looks for records of a journal that are too old, or has deleted some. */
  onExpired?(table: string, count: number): void
  /** A statement about a journal was rejected because of a fault. */
  onRejected?(): void
}

interface StatementResult {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number
}

const resultOf = (rows: Record<string, unknown>[], rowCount = rows.length): StatementResult => ({
  rows,
  rowCount,
})

/** A change of the running transaction. */
interface PendingChange {
  /** The records that it inserts. */
  readonly inserted?: JournalReport
  /** The table from which it deletes, and the number of rows. */
  readonly deleted?: readonly [table: string, count: number]
  /** Makes the change, and returns a function that undoes it. */
  apply(): () => void
}

/** A statement about a journal: its name, the table, and its parts. */
type JournalStatement = readonly [name: string, table: string, ...parts: never[]]

/** The statements about journals that were executed, by their texts. There are few, because their values are not in the text. */
const parsedStatements = new Map<string, JournalStatement>()

function parseStatement(text: string): JournalStatement {
  const known = parsedStatements.get(text)
  if (known !== undefined) return known
  const parsed = JSON.parse(text) as JournalStatement
  parsedStatements.set(text, parsed)
  return parsed
}

/** The server's side of a connection: its transaction. */
export class PostgresSession {
  private readonly postgres: SimulatedPostgres
  private readonly observer: PostgresObserver
  private isInTransaction = false
  private isReadOnly = false
  /** After an error, all statements fail until the end of the transaction. */
  private hasFailed = false
  private isAsynchronous = false
  private changes: PendingChange[] = []
  /** The partitions that the running transaction creates. */
  private attachments: (() => void)[] = []
  /** The version of the live changes that the running transaction inserts. */
  private insertedLayer: number | undefined
  private readonly connection: { readonly isOpen: boolean }

  constructor(postgres: SimulatedPostgres, observer: PostgresObserver, connection = { isOpen: true }) {
    this.postgres = postgres
    this.observer = observer
    this.connection = connection
  }

  /** Executes a statement. @throws PostgresError */
  execute(text: string, values: readonly unknown[], now: number, isLate: boolean): StatementResult {
    if (text === ROLLBACK) return this.end()
    if (text === COMMIT) return this.commit(now, isLate)
    if (this.hasFailed) throw new PostgresError(['25P02', 'current transaction is aborted'])
    try {
      return this.executeInTransaction(text, values, now, isLate)
    } catch (error) {
      this.hasFailed = this.isInTransaction
      throw error
    }
  }

  private executeInTransaction(
    text: string,
    values: readonly unknown[],
    now: number,
    isLate: boolean,
  ): StatementResult {
    if (text === EXECUTE)
      return resultOf([{ value: this.postgres.execute(values[0] as PostgresCommand, now) }])
    if (text === SELECT_RESULT) {
      const found = this.postgres.resultOf(values[0] as string)
      return resultOf(found === undefined ? [] : [found])
    }
    if (text.startsWith(JOURNAL_STATEMENT))
      return this.seeOwnDeletions(() =>
        this.executeOnJournal(text.slice(JOURNAL_STATEMENT.length), values, now, isLate),
      )
    if (text.startsWith(ALIAS_STATEMENT)) return resultOf(this.executeOnAliases(text, values))
    if (text.startsWith(LAYER_STATEMENT)) return this.executeOnLayers(text, values, now, isLate)
    if (text.startsWith('BEGIN')) this.begin(text)
    return resultOf([])
  }

  private executeOnAliases(text: string, values: readonly unknown[]): Record<string, unknown>[] {
    try {
      return executeOnAliases(this.postgres, text, values)
    } catch (error) {
      this.observer.onRejected?.()
      throw error
    }
  }

  private executeOnLayers(
    text: string,
    values: readonly unknown[],
    now: number,
    isLate: boolean,
  ): StatementResult {
    const effect = prepareLayerStatement(this.postgres, text, values, now)
    const { rows = [], rowCount, inserted, apply } = effect
    if (inserted !== undefined && this.isInTransaction) {
      this.insertedLayer = inserted
      this.postgres.layerInserts().set(inserted, this.connection)
    }
    if (apply !== undefined)
      this.change(
        {
          apply: () => {
            apply()
            // Its commit waits for the disk.
            return () => {}
          },
        },
        now,
        isLate,
      )
    return resultOf(rows as unknown as Record<string, unknown>[], rowCount)
  }

  private begin(text: string): void {
    this.isInTransaction = true
    this.isReadOnly = text.startsWith('BEGIN READ ONLY')
    this.isAsynchronous = text.includes('synchronous_commit = off')
  }

  private commit(now: number, isLate: boolean): StatementResult {
    if (this.hasFailed) return this.end()
    const { changes, attachments } = this
    for (const attach of attachments) attach()
    const reverts = changes.map(({ apply }) => apply())
    const inserts = changes.flatMap(({ inserted }) => inserted ?? [])
    if (changes.length > 0) {
      const undo = () => {
        for (const each of reverts.toReversed()) each()
        for (const report of inserts) this.observer.onLost?.(report)
      }
      this.postgres.onCommitted(now, this.isAsynchronous ? undo : undefined)
    }
    this.end()
    for (const report of inserts) this.observer.onInserted?.(report, isLate)
    for (const { deleted } of changes) if (deleted !== undefined) this.observer.onExpired?.(...deleted)
    return resultOf([])
  }

  /** Ends the transaction without its changes. */
  private end(): StatementResult {
    this.changes = []
    this.attachments = []
    this.isInTransaction = false
    this.isAsynchronous = false
    this.hasFailed = false
    const layerInserts = this.postgres.layerInserts()
    if (this.insertedLayer !== undefined && layerInserts.get(this.insertedLayer) === this.connection)
      layerInserts.delete(this.insertedLayer)
    this.insertedLayer = undefined
    return resultOf([])
  }

  private executeOnJournal(
    statement: string,
    values: readonly unknown[],
    now: number,
    isLate: boolean,
  ): StatementResult {
    const [name, table, ...parts] = parseStatement(statement)
    const isWrite = WRITES.has(name)
    try {
      this.postgres.rejectIfFaulty(!isWrite)
    } catch (error) {
      this.observer.onRejected?.()
      throw error
    }
    const journal = this.postgres.journal(table)
    if (name === 'lockParent') return resultOf([])
    if (name === 'insert') {
      const apply = journal.prepareInsert(parts[0] as never, values)
      this.change({ inserted: { table, bodies: values.at(-1) as string[] }, apply }, now, isLate)
      return resultOf([], (values[0] as unknown[]).length)
    }
    if (name === 'dropPartition' || name === 'deleteBefore') {
      const [partition, column] = parts as unknown as [string, 'seq' | 'time']
      const { count, apply } =
        name === 'dropPartition'
          ? journal.prepareDrop(partition)
          : journal.prepareDeleteBefore(partition, column, values[0])
      this.change({ deleted: [table, count], apply }, now, isLate)
      return resultOf([], count)
    }
    if (name === 'attachPartition') {
      // A transaction that does not end with COMMIT leaves no partition, in particular none without a range, which accepts no record.
      const [partition, from, to] = parts as unknown as [string, number, number]
      this.attachments.push(() => journal.attachPartition(partition, from, to))
      return resultOf([])
    }
    if (name === 'selectPartitions' && !this.isReadOnly) this.observer.onExpired?.(table, 0)
    const method = journal[name as 'select'] as unknown as ((...args: unknown[]) => unknown) | undefined
    if (method === undefined) throw new PostgresError(['42601', `unknown statement ${name}`])
    const result = method.call(journal, ...parts, ...(name === 'select' ? [values] : values.slice(0, 1)))
    return resultOf((result as Record<string, unknown>[] | undefined) ?? [])
  }

  /** Executes a statement that does not find the rows which its own transaction has deleted. Other transactions still find them. */
  private seeOwnDeletions<T>(execute: () => T): T {
    const deletions = this.changes.filter(({ deleted }) => deleted !== undefined)
    const reverts = deletions.map(({ apply }) => apply())
    try {
      return execute()
    } finally {
      for (const revert of reverts.toReversed()) revert()
    }
  }

  /** Adds a change, which is made with the COMMIT of the transaction, or at once without one. */
  private change(change: PendingChange, now: number, isLate: boolean): void {
    this.changes.push(change)
    if (!this.isInTransaction) this.commit(now, isLate)
  }
}

/** Statements that change rows. */
const WRITES = new Set(['insert', 'createPartition', 'attachPartition', 'dropPartition', 'deleteBefore'])
