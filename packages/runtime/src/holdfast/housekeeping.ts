import { CONFIG_DEFAULTS, type Config } from '@holdfast/config'
import { errorMessageOf, RetentionClock } from '@holdfast/records'
import type { Journal, PageOptions } from '@holdfast/store'
import type { StoreBackedContext } from '../context/store-backed-context.js'

/**
 * How many versions of the changes made through the API are kept. Each version is complete, and a rollback can return to
 * it.
 */
const MAX_LAYER_VERSIONS = 1000

/** How often changes that other processes made through the API are read. */
const REFRESH_MS = 1000
const SAVE_INTERVAL_MS = 10_000
const EXPIRE_INTERVAL_MS = 60_000

export interface HousekeepingTasks {
  config(): Config
  /**
   * Applies the changes that other processes made through the API; undefined where the store belongs to this process alone.
   */
  readonly refreshLayer: (() => Promise<void>) | undefined
  /** Milliseconds between two calls of it. @defaultValue 1000 */
  readonly refreshInterval?: number | undefined
  /** Saves the metrics. */
  saveMetrics(): Promise<void>
  /** Deletes dead letters that are too old. */
  expireDeadLetters(): Promise<unknown>
  /** Warns when the disk is nearly full. */
  checkDiskSpace(): Promise<void>
}

/** Runs periodic tasks: it saves metrics, deletes old records and checks the disk. */
export class Housekeeping {
  private readonly runtime: StoreBackedContext
  private readonly tasks: HousekeepingTasks
  private readonly retentionClock: RetentionClock
  private readonly timers = new Set<unknown>()
  private isStopped = false
  private currentRun: Promise<void> = Promise.resolve()

  constructor(runtime: StoreBackedContext, parts: HousekeepingTasks) {
    this.runtime = runtime
    this.tasks = parts
    this.retentionClock = new RetentionClock(runtime.clock)
  }

  start(): void {
    const { refreshLayer, refreshInterval = REFRESH_MS } = this.tasks
    if (refreshLayer !== undefined)
      this.scheduleEvery(refreshInterval, 'changes made by another process could not be read', refreshLayer)
    this.scheduleEvery(SAVE_INTERVAL_MS, 'metrics could not be saved', () => this.tasks.saveMetrics())
    this.scheduleEvery(EXPIRE_INTERVAL_MS, 'old records could not be deleted', () => this.enforceRetention())
  }

  async stop(): Promise<void> {
    this.isStopped = true
    for (const timer of this.timers) this.runtime.clock.clearTimer(timer)
    this.timers.clear()
    await this.currentRun
  }

  /** Deletes records that are too old or too many. */
  async enforceRetention(): Promise<void> {
    const { store } = this.runtime
    const { sessions = {}, events = {}, audit = {}, errors = {}, errorLog = {} } = this.tasks.config()
    const { maxAge: maxErrorAge = errorLog.maxAge ?? CONFIG_DEFAULTS.errors.maxAge } = errors
    const work: (() => Promise<unknown>)[] = [
      () => this.expire(store.sessions, { ...CONFIG_DEFAULTS.sessions, ...sessions }),
      () => this.expire(store.events, { ...CONFIG_DEFAULTS.events, ...events }),
      () => this.expire(store.audit, { ...CONFIG_DEFAULTS.audit, ...audit }),
      () => this.expire(store.errors, { ...CONFIG_DEFAULTS.errors, ...errors, maxAge: maxErrorAge }),
      () => this.expire(store.breakerEvents, { ...CONFIG_DEFAULTS.events, ...events }),
      () => store.layers.expire(MAX_LAYER_VERSIONS),
      () => this.tasks.expireDeadLetters(),
      () => this.tasks.checkDiskSpace(),
    ]
    // The tasks run one after another, and a failed task does not stop the next ones.
    const failures: unknown[] = []
    for (const task of work) await task().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  private async expire(
    journal: Journal<unknown, PageOptions>,
    { maxAge, maxEntries }: { maxAge?: number | undefined; maxEntries?: number | undefined },
  ): Promise<void> {
    const before = maxAge === undefined ? undefined : new Date(this.retentionClock.wall() - maxAge)
    await journal.expire({ before, maxEntries })
  }

  private scheduleEvery(ms: number, failed: string, work: () => Promise<void>): void {
    const { clock } = this.runtime
    const timer = clock.setTimer(() => {
      this.timers.delete(timer)
      this.currentRun = this.currentRun
        .then(work)
        .catch((error: unknown) => this.runtime.warn(`${failed}: ${errorMessageOf(error)}`))
        .then(() => {
          if (!this.isStopped) this.scheduleEvery(ms, failed, work)
        })
    }, ms)
    // Housekeeping must not keep the process running.
    ;(timer as { unref?(): void } | undefined)?.unref?.()
    this.timers.add(timer)
  }
}
