import { abortable, above, check, count } from '../check.js'
import type { Kit } from '../kit.js'
import { messageOf } from '../records/summary.js'
import type { Handlers } from './handlers.js'
import { LeaseBuffer, type LeasedEntry } from './lease-buffer.js'
import { Recordings } from './recordings.js'
import { isClosedDoor, type Owners, type Replays } from './replays.js'
import { wait } from './wait.js'

/** How requests made elsewhere are served. */
export interface WorkOptions {
  /** How many replays at a time. @defaultValue 4 */
  concurrency?: number | undefined
  /** Milliseconds between looks at the queue; ten times as many where the store tells of requests. @defaultValue 1000 */
  interval?: number | undefined
  /** Ends the work when aborted, after the replays under way. */
  signal?: AbortSignal | undefined
}

/** How much less often the queue is looked at by a worker that is told of requests: only leases that end are found so. */
const PATIENCE = 10

const OPTIONS = { concurrency: count, interval: above, signal: abortable }

interface Parts {
  readonly kit: Kit
  readonly handlers: Handlers
  readonly replays: Replays
  readonly owners: Owners
  readonly closing: AbortSignal
  /** Told of each entry that was completed. */
  readonly completed: () => Promise<void>
}

/** Serves requests to replay for as long as it is let. */
export class Worker {
  private readonly running = new Set<Promise<void>>()
  /** Operations that cannot be had now, and until when, in monotonic time. */
  private readonly resting = new Map<string, number>()
  private complained = false
  /** Whether the store tells of requests, whether it has since the last look, and what ends a wait when it does. */
  private told = false
  private woken = false
  private bell: AbortController | undefined = undefined
  private readonly parts: Parts
  private readonly options: WorkOptions
  private readonly interval: number
  private readonly concurrency: number
  private readonly leases: LeaseBuffer
  private readonly recordings: Recordings

  /** @throws INVALID_OPTIONS */
  constructor(parts: Parts, options: WorkOptions) {
    check('the work cannot begin', options, {}, OPTIONS)
    this.parts = parts
    this.options = options
    this.interval = options.interval ?? 1000
    this.concurrency = options.concurrency ?? 4
    const { kit, owners, replays } = parts
    this.leases = new LeaseBuffer({
      kit,
      owners,
      replays,
      concurrency: this.concurrency,
      want: async () => {
        const operations = await this.willing()
        return operations.length === 0 || this.stopped
          ? undefined
          : { operations, statuses: ['pending', 'failed'], requested: true }
      },
      free: () => this.concurrency - this.running.size,
      most: () => Number.POSITIVE_INFINITY,
      isWanted: ({ operationType }) => !this.stopped && !this.resting.has(operationType),
    })
    this.recordings = new Recordings(kit)
  }

  private get stopped(): boolean {
    return this.options.signal?.aborted === true || this.parts.closing.aborted
  }

  /** Resolves when the signal is aborted or the queue closes, and what was under way has ended. */
  async run(): Promise<void> {
    const leave = this.parts.kit.store.deadLetters.onRequest?.(() => this.wake())
    try {
      while (!this.stopped) {
        if (this.running.size >= this.concurrency) {
          await Promise.race(this.running)
          continue
        }
        this.woken = false
        if (!(await this.startNext()) || this.leases.isDrained) await this.idle()
      }
    } finally {
      leave?.()
    }
    await Promise.all(this.running)
    await this.leases.close()
    await this.recordings.idle()
  }

  private wake(): void {
    this.told = true
    this.woken = true
    this.bell?.abort()
  }

  /** Waits for the next look at the queue, which is at once where somebody has asked meanwhile. */
  private async idle(): Promise<void> {
    const { closing, kit } = this.parts
    if (this.woken) return
    this.bell = new AbortController()
    // Operations that rest are looked at when they have rested, and nobody tells of that.
    const patient = this.told && this.resting.size === 0
    const ms = this.interval * (patient ? PATIENCE : 1)
    await wait(kit.clock, ms, [this.options.signal, closing, this.bell.signal])
    this.bell = undefined
  }

  /** The operations that are served here and can be had now. */
  private async willing(): Promise<string[]> {
    const now = this.parts.kit.clock.now()
    for (const [operation, until] of this.resting) if (until <= now) this.resting.delete(operation)
    return (await this.parts.handlers.operations()).filter((each) => !this.resting.has(each))
  }

  /** Begins a replay. False where there is nothing to replay. */
  private async startNext(): Promise<boolean> {
    try {
      const leased = await this.leases.next()
      this.complained = false
      if (leased === undefined) return false
      const replay = this.serve(leased).finally(() => this.running.delete(replay))
      this.running.add(replay)
      return true
    } catch (error) {
      this.complain(error)
      return false
    }
  }

  private async serve(leased: LeasedEntry): Promise<void> {
    const { handlers, replays } = this.parts
    const { entry, owner } = leased
    try {
      const replayer = await handlers.find(entry.operationType)
      if (replayer === undefined) return this.leases.giveBack(leased)
      const replayed = await replays.execute(entry, owner, replayer, true)
      // Before the result is recorded: other entries of the operation would reach the same closed door meanwhile.
      if (isClosedDoor(replayed.error)) this.rest(entry.operationType, replayed.error)
      await this.recordings.add(async () => {
        try {
          const { end, error } = await replayed.record()
          if (end === 'completed') await this.parts.completed()
          if (end !== 'put_back') return
          if (isClosedDoor(error)) return
          // An entry that cannot be read delays its own operation alone.
          this.rest(entry.operationType, error)
          this.complain(error)
        } catch (error) {
          this.complain(error)
        }
      })
    } catch (error) {
      this.complain(error)
    }
  }

  /** Replays nothing of an operation until its breaker may be closed again. */
  private rest(operation: string, error: unknown): void {
    const { retryAfter = this.interval } = (error ?? {}) as { retryAfter?: number }
    this.resting.set(operation, this.parts.kit.clock.now() + Math.max(this.interval, retryAfter))
  }

  private complain(error: unknown): void {
    if (!this.complained)
      this.parts.kit.complain(`requests to replay wait: ${this.parts.kit.redact(messageOf(error))}`)
    this.complained = true
  }
}
