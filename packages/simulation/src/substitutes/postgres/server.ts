import { type DeadLetter, deepCopy } from '@holdfast/records'
import type { StoredPayloads } from '../../../../store/src/dead-letter-store.js'
import { serializePayload } from '../../../../store/src/payload.js'
import { DeadLetterTable } from './dead-letter-table.js'
import { JournalRows } from './journal-rows.js'
import { PostgresError } from './postgres-error.js'
import { BreakerTable, LayerTable, MetricsTable, ValueTable } from './small-tables.js'

/** A state in which PostgreSQL rejects statements. */
export type PostgresFault = 'read-only' | 'disk-full' | 'shutting-down' | 'slow'

/** The errors of PostgreSQL in these states: SQLSTATE and message. */
const FAULT_ERRORS: Record<PostgresFault, readonly [code: string, message: string]> = {
  'read-only': ['25006', 'cannot execute INSERT in a read-only transaction'],
  'disk-full': ['53100', 'could not extend file: No space left on device'],
  'shutting-down': ['57P03', 'the database system is shutting down'],
  slow: ['57014', 'canceling statement due to statement timeout'],
}

/** A method of the store as one transaction. */
export interface PostgresCommand {
  /** Identifies the work. A repeated command with the same id is not executed again if it was committed. */
  readonly id: string
  /** The method with the part of the store: `deadLetters.add`. */
  readonly method: string
  readonly args: readonly unknown[]
}

/** A notification that a replay was requested is sent to these methods' listeners. */
const REQUEST_METHOD = 'deadLetters.request'

/** Methods that change nothing. */
const READS = new Set([
  ...['get', 'list', 'count', 'isProcessed', 'stats'].map((method) => `deadLetters.${method}`),
  'breakers.load',
  'metrics.load',
  'layers.latest',
  'layers.history',
  'values.get',
  'values.list',
])

/** Whether a method changes nothing. */
export const isRead = (method: string): boolean => READS.has(method)

/** Methods whose commit does not wait for the disk. A crash can lose the last ones. */
const ASYNCHRONOUS = new Set(['metrics.save'])

/** After this time the WAL writer has flushed every commit: three times `wal_writer_delay`. */
const WAL_FLUSH_MS = 600

/** How long the result of a command is remembered for a repeated command. */
const RESULT_TTL_MS = 60_000

interface PendingFlush {
  readonly at: number
  /** The command, if it is one. */
  readonly id: string | undefined
  undo(): void
}

/** A simulated PostgreSQL: a state machine without a clock and without connections. */
export interface SimulatedPostgres {
  /**
   * Executes a method of the store in one transaction, at a time of the server. The returned value is a copy. The change is durable
   * when this returns, except for the journals and metrics that the store writes asynchronously.
   *
   * @throws PostgresError while a fault is on
   */
  execute(command: PostgresCommand, now: number): unknown
  /** The result of a command that was committed in the last minute; undefined for other commands. */
  resultOf(id: string): { readonly value: unknown } | undefined
  /** A new id for a command of a statement, whose client sends no id. */
  createCommandId(): string
  /** Throws the error of a statement if a fault is on. @throws PostgresError */
  rejectIfFaulty(isRead: boolean): void
  /** The rows of a journal. */
  journal(table: string): JournalRows
  /** The aliases of dead letters: JSON values by the hashes of their keys. */
  aliases(): Map<string, string>
  /** The connections that have inserted a version of the live changes in a transaction that runs, by version. */
  layerInserts(): Map<number, { readonly isOpen: boolean }>
  /** A transaction was committed. With `undo`, the commit does not wait for the disk, and a crash can lose it. */
  onCommitted(now: number, undo: (() => void) | undefined): void
  setFault(fault: PostgresFault, isOn: boolean): void
  readonly faults: ReadonlySet<PostgresFault>
  /** Ends the process and starts it again. Commits that were not flushed are lost. */
  crash(now: number): void
  /** Calls the listener after each request of a replay. Returns a function that ends the subscription. */
  onRequest(listener: () => void): () => void
  /** The leases that are held at a time of a node, for the check of invariants. */
  leases(now: number): { id: string; owner: string; until: number }[]
}

/** The entry as the table stores it: its payload is JSON. */
const storedEntry = (entry: DeadLetter): DeadLetter => ({
  ...entry,
  originalPayload: storedPayload(entry.originalPayload),
})

const storedPayloads = ({ originalPayload, editedPayload }: StoredPayloads): StoredPayloads => ({
  originalPayload: storedPayload(originalPayload),
  editedPayload: editedPayload === undefined ? undefined : storedPayload(editedPayload),
})

const storedPayload = (payload: unknown): unknown => JSON.parse(serializePayload(payload)) as unknown

/** Methods whose arguments have payloads. */
const PREPARED = new Set(['deadLetters.add', 'deadLetters.edit', 'deadLetters.rewrite'])

/** The arguments of a method as the tables store them. */
function prepareArguments(method: string, args: unknown[]): unknown[] {
  if (!PREPARED.has(method)) return args
  const [first, second, ...rest] = args
  if (method === 'deadLetters.add') return [(first as DeadLetter[]).map(storedEntry), second, ...rest]
  if (method === 'deadLetters.edit') return [first, second === null ? null : storedPayload(second), ...rest]
  return [first, ...[second, ...rest].map((payloads) => storedPayloads(payloads as StoredPayloads))]
}

/** Creates a simulated PostgreSQL, empty. */
export function createSimulatedPostgres(): SimulatedPostgres {
  const deadLetters = new DeadLetterTable()
  const journals = new Map<string, JournalRows>()
  const aliases = new Map<string, string>()
  const layerInserts = new Map<number, { readonly isOpen: boolean }>()
  const tables: Record<string, object> = {
    breakers: new BreakerTable(),
    metrics: new MetricsTable(),
    layers: new LayerTable(),
    values: new ValueTable(),
    deadLetters,
  }
  const faults = new Set<PostgresFault>()
  const listeners = new Set<() => void>()
  /** The results of committed commands, oldest first. */
  const results = new Map<string, { at: number; value: unknown }>()
  let pendingFlushes: PendingFlush[] = []
  let createdIdCount = 0

  /** The methods that were called, by their names. */
  const methods = new Map<string, (...args: unknown[]) => unknown>()

  function findMethod(method: string): (...args: unknown[]) => unknown {
    const known = methods.get(method)
    if (known !== undefined) return known
    const [table = '', name = ''] = method.split('.')
    const target = tables[table] as Record<string, (...args: unknown[]) => unknown> | undefined
    const fn = target?.[name]?.bind(target)
    if (fn === undefined) throw new Error(`the simulated PostgreSQL has no method ${method}`)
    methods.set(method, fn)
    return fn
  }

  const run = (method: string, args: readonly unknown[]): unknown =>
    findMethod(method)(...prepareArguments(method, deepCopy(args) as unknown[]))

  /** A commit that waits for the disk also flushes all commits before it. `undo` is for one that does not wait. */
  function addFlush(at: number, undo: (() => void) | undefined, id?: string): void {
    pendingFlushes = pendingFlushes.filter((each) => each.at > at - WAL_FLUSH_MS)
    if (undo === undefined) pendingFlushes = []
    else pendingFlushes.push({ at, id, undo })
  }

  function rejectIfFaulty(isRead: boolean): void {
    for (const fault of faults)
      if (!isRead || fault === 'shutting-down' || fault === 'slow')
        throw new PostgresError(FAULT_ERRORS[fault])
  }

  function commit({ id, method }: PostgresCommand, value: unknown, now: number): unknown {
    const isAsynchronous = ASYNCHRONOUS.has(method)
    addFlush(now, isAsynchronous ? (value as () => void) : undefined, id)
    // A table returns how to undo a write that can be lost; the caller gets nothing.
    const result = typeof value === 'function' ? undefined : value
    results.set(id, { at: now, value: result })
    for (const [oldest, { at }] of results) {
      if (at > now - RESULT_TTL_MS) break
      results.delete(oldest)
    }
    if (method === REQUEST_METHOD && value !== undefined) for (const listener of listeners) listener()
    return result
  }

  return {
    faults,
    execute(command, now) {
      const { id, method, args } = command
      const isReadOnly = READS.has(method)
      if (pendingFlushes.length > 0)
        pendingFlushes = pendingFlushes.filter(({ at }) => at > now - WAL_FLUSH_MS)
      rejectIfFaulty(isReadOnly)
      if (isReadOnly) return deepCopy(run(method, args))
      const known = results.get(id)
      return deepCopy(known !== undefined ? known.value : commit(command, run(method, args), now))
    },
    resultOf(id) {
      const known = results.get(id)
      return known && { value: deepCopy(known.value) }
    },
    setFault(fault, isOn) {
      if (isOn) faults.add(fault)
      else faults.delete(fault)
    },
    crash(now) {
      for (const { at, id, undo } of pendingFlushes.toReversed())
        if (at > now - WAL_FLUSH_MS) {
          undo()
          if (id !== undefined) results.delete(id)
        }
      pendingFlushes = []
    },
    onRequest(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    createCommandId: () => `statement ${createdIdCount++}`,
    rejectIfFaulty,
    aliases: () => aliases,
    layerInserts: () => layerInserts,
    journal(table) {
      const journal = journals.get(table) ?? new JournalRows()
      journals.set(table, journal)
      return journal
    },
    onCommitted: (now, undo) => addFlush(now, undo),
    leases: (now) => [...deadLetters.leases(now)],
  }
}
