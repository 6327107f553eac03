import { isHoldfastError } from 'holdfast'
import { openSqlite } from '../../../store/src/sqlite/index.js'
import type { Store } from '../../../store/src/store.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { VirtualClock } from '../engine/virtual-clock.js'
import type { Outcome, StoreProcess } from '../store-history/store-machine.js'
import { ConnectionLife, type OnStatement } from './connection-life.js'
import type { StatementFault } from './history-faults.js'
import { DATABASE_FILE, type OpenRealDriver, SimulatedDatabase } from './simulated-database.js'
import { createProcessThreads, type ProcessThreads } from './simulated-thread.js'
import { createSqlitePlatform } from './sqlite-platform.js'

/** The parts of a process. */
interface ProcessState {
  readonly clock: VirtualClock
  readonly life: ConnectionLife
  readonly threads: ProcessThreads | undefined
  /** Ends the calls of a process that dies. */
  readonly onDied: Set<() => void>
}

/** One machine, on which several processes use one SQLite file. */
export class SqliteMachine {
  readonly database: SimulatedDatabase
  /** The batches of `JournalBuffer`. */
  readonly transactionSize = 512
  /** The fault of the current step. */
  fault: StatementFault | undefined
  private readonly scheduler: Scheduler
  private readonly choices: Choices
  private readonly report: (violation: Violation) => void
  private readonly states = new Map<StoreProcess, ProcessState>()
  private processCount = 0

  constructor(
    openReal: OpenRealDriver,
    scheduler: Scheduler,
    choices: Choices,
    report: (violation: Violation) => void,
  ) {
    this.database = new SimulatedDatabase(openReal, choices.fork())
    this.scheduler = scheduler
    this.choices = choices
    this.report = report
  }

  get running(): readonly StoreProcess[] {
    return [...this.states.keys()]
  }

  get hasFault(): boolean {
    return this.fault !== undefined
  }

  /** Whether a call can be carried out twice now: a new thread sends calls again. */
  get canRepeatCalls(): boolean {
    return this.fault?.isThreadCrash === true
  }

  /** Starts a process. Its store is not open. */
  start(): StoreProcess {
    const { database, choices } = this
    const clock = new VirtualClock(this.scheduler)
    const onStatement: OnStatement = (kind) => this.fault?.onStatement(kind)
    const life = new ConnectionLife(database, onStatement)
    const threads = choices.chance(0.5)
      ? createProcessThreads({ database, clock, choices: choices.fork(), onStatement })
      : undefined
    const store = openSqlite(DATABASE_FILE, {
      platform: createSqlitePlatform(database, life, clock),
      startThread: threads?.start,
    })
    const name = `p${++this.processCount}`
    const process: StoreProcess = { name, store, isAlive: true, fault: undefined, operationCount: 0 }
    this.states.set(process, { clock, life, threads, onDied: new Set() })
    return process
  }

  kill(process: StoreProcess): void {
    const state = this.states.get(process)
    if (state === undefined) return
    process.isAlive = false
    this.states.delete(process)
    state.clock.stop()
    state.life.end()
    state.threads?.kill()
    for (const onDied of state.onDied) onDied()
  }

  /** The thread of a process ends. */
  crashThread(process: StoreProcess): void {
    this.states.get(process)?.threads?.crash()
  }

  /** Checks that a process whose store is closed has no requests to its thread and no timers, after the current turn has ended. */
  async checkIdle(process: StoreProcess): Promise<void> {
    await this.scheduler.delay(1)
    const { threads, clock } = this.states.get(process) ?? {}
    const requests = threads?.openRequests ?? 0
    const timers = clock?.timerCount ?? 0
    if (requests > 0 || timers > 0)
      this.report(
        new Violation(
          'memory',
          `the SQLite store of ${process.name} has ${requests} requests to its thread and ${timers} timers after it was closed: expected none`,
        ),
      )
  }

  /** Calls the store of a process. */
  run<T>(process: StoreProcess, work: (store: Store) => Promise<T>): Promise<Outcome<T>> {
    return new Promise((resolve) => {
      const callbacks = this.states.get(process)?.onDied
      if (callbacks === undefined) return resolve({ kind: 'died' })
      const onDied = () => resolve({ kind: 'died' })
      callbacks.add(onDied)
      const end = (outcome: Outcome<T>) => {
        callbacks.delete(onDied)
        resolve(outcome)
      }
      work(process.store).then(
        (value) => end({ kind: 'ok', value }),
        (error: unknown) => {
          if (process.isAlive) this.checkError(process, error)
          end({ kind: 'failed', error })
        },
      )
    })
  }

  /** A store fails only if a statement does, and then in the documented way. */
  private checkError({ name }: StoreProcess, error: unknown): void {
    if (this.fault?.canFailCalls !== true)
      this.report(
        new Violation(
          'hangs',
          `a call of the SQLite store of ${name} failed without a reason: ${String(error)}`,
        ),
      )
    else if (!isHoldfastError(error, 'STORE_UNAVAILABLE'))
      this.report(
        new Violation(
          'unhandled',
          `a call of the SQLite store of ${name} did not fail with STORE_UNAVAILABLE: ${String(error)}`,
        ),
      )
  }

  /** Ends all processes and deletes the file. */
  remove(): void {
    for (const process of this.states.keys()) this.kill(process)
    this.database.remove()
  }
}
