import type { PostgresDatabase } from '../../../../store/src/postgres/database.js'
import { PostgresJournal, PostgresSessions } from '../../../../store/src/postgres/journal.js'
import {
  auditJournal,
  breakerEventJournal,
  errorJournal,
  eventJournal,
  sessionJournal,
} from '../../../../store/src/postgres/journal-tables.js'
import type {
  journalStatements,
  partitionStatements,
} from '../../../../store/src/postgres/statements/journal.js'

/** Statements about journals begin with this text, followed by the name of the statement and its parts as JSON. */
export const JOURNAL_STATEMENT = 'JOURNAL '

const encode = (name: string, table: string, ...parts: readonly unknown[]): string =>
  `${JOURNAL_STATEMENT}${JSON.stringify([name, table, ...parts])}`

/** The statements about one journal, in a form that the simulated server executes. */
const simulatedJournalStatements = (table: string): ReturnType<typeof journalStatements> => ({
  insert: (columns) => encode('insert', table, Object.keys(columns)),
  countAmongLatest: (limit) => encode('countAmongLatest', table, limit),
  select: (conditions, isNewestFirst, limit) => encode('select', table, conditions, isNewestFirst, limit),
  selectOldestKept: encode('selectOldestKept', table),
  count: encode('count', table),
  selectSession: encode('selectSession', table),
})

const simulatedPartitionStatements = (table: string): ReturnType<typeof partitionStatements> => ({
  create: (partition) => encode('createPartition', table, partition),
  attach: (partition, from, to) => encode('attachPartition', table, partition, from, to),
  selectNames: encode('selectPartitions', table),
  count: (partition) => encode('countPartition', table, partition),
  lockParent: encode('lockParent', table),
  drop: (partition) => encode('dropPartition', table, partition),
  deleteBefore: (partition, column) => encode('deleteBefore', table, partition, column),
})

/** Replaces the SQL of a journal, whose code is otherwise that of the store. */
function simulateStatements<T extends object>(journal: T, table: string): T {
  const { partitions } = journal as unknown as { partitions: object }
  Object.assign(journal, { statements: simulatedJournalStatements(table) })
  Object.assign(partitions, { statements: simulatedPartitionStatements(table) })
  return journal
}

/** Creates the journals of a store on a simulated server. */
export const createSimulatedJournals = (database: PostgresDatabase) => ({
  sessions: simulateStatements(new PostgresSessions(database, sessionJournal), 'sessions'),
  events: simulateStatements(new PostgresJournal(database, eventJournal), 'events'),
  errors: simulateStatements(new PostgresJournal(database, errorJournal), 'errors'),
  audit: simulateStatements(new PostgresJournal(database, auditJournal, true), 'audit'),
  breakerEvents: simulateStatements(new PostgresJournal(database, breakerEventJournal), 'breaker_events'),
})
