import { RETENTION } from './config/retention.js'
import type { Config } from './config/schema/schema.js'
import type { House } from './house.js'
import { messageOf } from './records/summary.js'
import { SteadyTime } from './steady.js'
import type { Journal, PageOptions } from './store/store.js'

/** Each is the whole layer of changes made through the API, and can be gone back to. */
const LAYERS = 1000

/** How soon a change that another process made through the API is taken over. */
const LOOK_EVERY = 1000
const SAVE_EVERY = 10_000
const EXPIRE_EVERY = 60_000

export interface HousekeepingParts {
  config(): Config
  /** Takes over what other processes have changed through the API; undefined where there can be none. */
  readonly followLayer: (() => Promise<void>) | undefined
  /** Writes what was counted. */
  saveMetrics(): Promise<void>
  /** Lets go of dead letters that are too old. */
  expireDeadLetters(): Promise<unknown>
  /** Warns where the disk is nearly full. */
  checkSpace(): Promise<void>
}

/** What must be done now and then: counters are written, old records are let go of, the disk is looked at. */
export class Housekeeping {
  private readonly house: House
  private readonly parts: HousekeepingParts
  private readonly steady: SteadyTime
  private readonly timers = new Set<unknown>()
  private stopped = false
  private running: Promise<void> = Promise.resolve()

  constructor(house: House, parts: HousekeepingParts) {
    this.house = house
    this.parts = parts
    this.steady = new SteadyTime(house.clock)
  }

  start(): void {
    const { followLayer } = this.parts
    if (followLayer !== undefined)
      this.every(LOOK_EVERY, 'changes made by another process could not be taken over', followLayer)
    this.every(SAVE_EVERY, 'metrics could not be saved', () => this.parts.saveMetrics())
    this.every(EXPIRE_EVERY, 'old records could not be let go of', () => this.tidy())
  }

  async stop(): Promise<void> {
    this.stopped = true
    for (const timer of this.timers) this.house.clock.clearTimer(timer)
    this.timers.clear()
    await this.running
  }

  /** Lets go of what is too old or too much. */
  async tidy(): Promise<void> {
    const { store } = this.house
    const { sessions = {}, events = {}, audit = {}, errors = {}, errorLog = {} } = this.parts.config()
    const { maxAge: maxErrorAge = errorLog.maxAge ?? RETENTION.errors.maxAge } = errors
    const work: (() => Promise<unknown>)[] = [
      () => this.expire(store.sessions, { ...RETENTION.sessions, ...sessions }),
      () => this.expire(store.events, { ...RETENTION.events, ...events }),
      () => this.expire(store.audit, { ...RETENTION.audit, ...audit }),
      () => this.expire(store.errors, { ...RETENTION.errors, ...errors, maxAge: maxErrorAge }),
      () => this.expire(store.breakerEvents, { ...RETENTION.events, ...events }),
      () => store.layers.expire(LAYERS),
      () => this.parts.expireDeadLetters(),
      () => this.parts.checkSpace(),
    ]
    // One after the other, and none is left out because another failed.
    const failures: unknown[] = []
    for (const each of work) await each().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  private async expire(
    journal: Journal<unknown, PageOptions>,
    { maxAge, maxEntries }: { maxAge?: number | undefined; maxEntries?: number | undefined },
  ): Promise<void> {
    const before = maxAge === undefined ? undefined : new Date(this.steady.wall() - maxAge)
    await journal.expire({ before, maxEntries })
  }

  private every(ms: number, failed: string, work: () => Promise<void>): void {
    const { clock } = this.house
    const timer = clock.setTimer(() => {
      this.timers.delete(timer)
      this.running = this.running
        .then(work)
        .catch((error: unknown) => this.house.complain(`${failed}: ${messageOf(error)}`))
        .then(() => {
          if (!this.stopped) this.every(ms, failed, work)
        })
    }, ms)
    // Tidying up is no reason for a process to stay.
    ;(timer as { unref?(): void } | undefined)?.unref?.()
    this.timers.add(timer)
  }
}
