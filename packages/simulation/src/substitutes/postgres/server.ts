import { type DeadLetter, deepCopy } from '@holdfast/records'
import {
  auditFilter,
  breakerEventFilter,
  errorFilter,
  eventFilter,
  sessionFilter,
} from '../../../../store/src/filters.js'
import { serializePayload } from '../../../../store/src/payload.js'
import { DeadLetterTable } from './dead-letter-table.js'
import { JournalTable } from './journal-table.js'
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

/** An error of the server, in the form of the driver. */
class PostgresError extends Error {
  readonly severity = 'ERROR'
  readonly code: string

  constructor([code, message]: readonly [string, string]) {
    super(message)
    this.name = 'error'
    this.code = code
  }
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
  ...['sessions', 'events', 'errors', 'audit', 'breakerEvents'].flatMap((journal) => [
    `${journal}.list`,
    `${journal}.count`,
  ]),
  'sessions.get',
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
const ASYNCHRONOUS = new Set([
  'sessions.append',
  'events.append',
  'errors.append',
  'breakerEvents.append',
  'metrics.save',
])

/** After this time the WAL writer has flushed every commit: three times `wal_writer_delay`. */
const WAL_FLUSH_MS = 600

/** How long the result of a command is remembered for a repeated command. */
const RESULT_TTL_MS = 60_000

interface PendingFlush {
  readonly at: number
  readonly id: string
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

const storedPayload = (payload: unknown): unknown => JSON.parse(serializePayload(payload)) as unknown

/** Methods whose arguments have payloads. */
const PREPARED = new Set(['deadLetters.add', 'deadLetters.edit', 'deadLetters.rewrite'])

/** The arguments of a method as the tables store them. */
function prepareArguments(method: string, args: unknown[]): unknown[] {
  if (!PREPARED.has(method)) return args
  const [first, second, ...rest] = args
  if (method === 'deadLetters.add') return [(first as DeadLetter[]).map(storedEntry), second, ...rest]
  if (method === 'deadLetters.edit') return [first, second === null ? null : storedPayload(second), ...rest]
  return [first, storedPayload(second), rest[0] === undefined ? undefined : storedPayload(rest[0])]
}

/** Creates a simulated PostgreSQL, empty. */
export function createSimulatedPostgres(): SimulatedPostgres {
  const deadLetters = new DeadLetterTable()
  const sessions = new JournalTable(sessionFilter)
  const tables: Record<string, object> = {
    sessions,
    events: new JournalTable(eventFilter),
    errors: new JournalTable(errorFilter),
    audit: new JournalTable(auditFilter),
    breakerEvents: new JournalTable(breakerEventFilter),
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

  /** The methods that were called, by their names. */
  const methods = new Map<string, (...args: unknown[]) => unknown>([
    ['sessions.get', (id) => sessions.find(({ sessionId }) => sessionId === id)],
  ])

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

  function commit({ id, method }: PostgresCommand, value: unknown, now: number): unknown {
    const isAsynchronous = ASYNCHRONOUS.has(method)
    // A commit that waits for the disk also flushes all commits before it.
    if (isAsynchronous) pendingFlushes.push({ at: now, id, undo: value as () => void })
    else pendingFlushes = []
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
      for (const fault of faults)
        if (!isReadOnly || fault === 'shutting-down' || fault === 'slow')
          throw new PostgresError(FAULT_ERRORS[fault])
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
          results.delete(id)
        }
      pendingFlushes = []
    },
    onRequest(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    leases: (now) => [...deadLetters.leases(now)],
  }
}
