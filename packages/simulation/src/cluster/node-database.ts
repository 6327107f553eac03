import { DEAD_LETTER_METHODS } from '../../../store/src/dead-letter-store.js'
import { openSqlite } from '../../../store/src/sqlite/index.js'
import type { Store } from '../../../store/src/store.js'
import { SqliteQueueModel } from '../dead-letters/sqlite-queue-model.js'
import type { Choices } from '../engine/seeded-random.js'
import { JOURNAL_NAMES, StoredRecordModel } from '../invariants/stored-record-model.js'
import type { Process } from '../process/simulated-node.js'
import { ConnectionLife } from '../sqlite/connection-life.js'
import { DATABASE_FILE, type OpenRealDriver, SimulatedDatabase } from '../sqlite/simulated-database.js'
import { createProcessThreads, type ProcessThreads } from '../sqlite/simulated-thread.js'
import { createSqlitePlatform } from '../sqlite/sqlite-platform.js'

/** The share of processes whose connection is in the main thread. */
const LOCAL_SHARE = 0.25

type AnyMethods = Record<string, (...args: readonly unknown[]) => Promise<unknown>>

/** What happens in the store of a process. */
export interface SqliteObserver {
  /** A method of the store has resolved, such as `events.append`. */
  onResolved(process: Process, method: string, args: readonly unknown[], result: unknown): void
  /** Runs a check of a promise. */
  check(fn: () => void): void
}

/** The methods of periodic tasks. */
const TASKS = { layers: ['latest'], metrics: ['save'], sessions: ['expire'] } as const

/** The SQLite file of a node, its promises, and the stores of its processes. */
export class NodeDatabase {
  readonly database: SimulatedDatabase
  readonly queue: SqliteQueueModel
  readonly records: StoredRecordModel
  /** The threads of the process; undefined if it has the connection in its main thread. */
  private threads: ProcessThreads | undefined
  private readonly choices: Choices

  constructor(openReal: OpenRealDriver, choices: Choices, now: () => number) {
    this.choices = choices
    this.database = new SimulatedDatabase(openReal, choices.fork())
    this.queue = new SqliteQueueModel(this.database)
    this.records = new StoredRecordModel(this.database, now)
    this.database.onFlushed = () => this.records.onFlushed()
  }

  /** Creates the store of a new process. */
  createStore(process: Process, observer: SqliteObserver): Store {
    const { database, choices } = this
    const { clock } = process
    const life = new ConnectionLife(database)
    const platform = createSqlitePlatform(database, life, clock)
    this.threads = choices.chance(LOCAL_SHARE)
      ? undefined
      : createProcessThreads({ database, clock, choices: choices.fork() })
    const { threads } = this
    process.onKilled.push(() => {
      life.end()
      threads?.kill()
    })
    const store = openSqlite(DATABASE_FILE, { platform, startThread: threads?.start })
    this.observeQueue(process, store, observer)
    this.observeJournals(process, store, observer)
    for (const [part, methods] of Object.entries(TASKS))
      for (const method of methods)
        observe(store[part as keyof typeof TASKS], method, {
          onResolved: (args, result) => {
            if (process.isAlive) observer.onResolved(process, `${part}.${method}`, args, result)
          },
        })
    return store
  }

  /** The thread ends, and its process continues. Returns whether there is one. */
  crashThread(): boolean {
    if (this.threads === undefined) return false
    this.records.onThreadEnded()
    this.threads.crash()
    return true
  }

  onProcessEnded(): void {
    this.queue.onProcessEnded()
    this.records.onProcessEnded()
  }

  losePower(): void {
    this.database.losePower()
    this.records.onPowerLost()
  }

  private observeQueue(process: Process, { deadLetters }: Store, observer: SqliteObserver): void {
    for (const method of ['add', ...DEAD_LETTER_METHODS])
      observe(deadLetters, method, {
        onCalled: (args) => {
          if (process.isAlive) this.queue.onCalled(method, args)
        },
        onResolved: (args, result) => {
          if (!process.isAlive) return
          observer.check(() => this.queue.onResolved(process.name, method, args, result))
          observer.onResolved(process, `deadLetters.${method}`, args, result)
        },
      })
  }

  private observeJournals(process: Process, store: Store, observer: SqliteObserver): void {
    for (const name of JOURNAL_NAMES) {
      const journal = store[name]
      const append = journal.append.bind(journal) as (records: readonly unknown[]) => Promise<void>
      journal.append = async (records: readonly unknown[]) => {
        const started = process.isAlive
          ? this.records.onAppend(name, records as readonly Record<string, unknown>[])
          : undefined
        try {
          await append(records)
        } catch (error) {
          started?.onFailed()
          throw error
        }
        if (!process.isAlive) return
        observer.check(() => started?.onAcknowledged())
        observer.onResolved(process, `${name}.append`, [records], undefined)
      }
    }
  }
}

/** Calls functions before a method of an object is called and after it has resolved. */
function observe(
  target: object,
  method: string,
  {
    onCalled,
    onResolved,
  }: {
    onCalled?: (args: readonly unknown[]) => void
    onResolved: (args: readonly unknown[], result: unknown) => void
  },
): void {
  const methods = target as AnyMethods
  const run = methods[method]?.bind(target)
  methods[method] = async (...args) => {
    onCalled?.(args)
    const result = await run?.(...args)
    onResolved(args, result)
    return result
  }
}
