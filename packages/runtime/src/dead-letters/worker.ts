import { abortable, above, check, count } from '../check.js'
import type { Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import { messageOf } from '../records/summary.js'
import type { Handlers } from './handlers.js'
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

  /** @throws INVALID_OPTIONS */
  constructor(parts: Parts, options: WorkOptions) {
    check('the work cannot begin', options, {}, OPTIONS)
    this.parts = parts
    this.options = options
    this.interval = options.interval ?? 1000
  }

  /** Resolves when the signal is aborted or the queue closes, and what was under way has ended. */
  async run(): Promise<void> {
    const { closing, kit } = this.parts
    const { concurrency = 4, signal } = this.options
    const leave = kit.store.deadLetters.onRequest?.(() => this.wake())
    try {
      while (signal?.aborted !== true && !closing.aborted) {
        const room = concurrency - this.running.size
        this.woken = false
        const taken = room > 0 ? await this.take(room) : 0
        if (room === 0) await Promise.race(this.running)
        else if (taken < room) await this.idle()
      }
    } finally {
      leave?.()
    }
    await Promise.all(this.running)
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

  private async take(limit: number): Promise<number> {
    const { handlers, kit, owners, replays } = this.parts
    try {
      const now = kit.clock.now()
      for (const [operation, until] of this.resting) if (until <= now) this.resting.delete(operation)
      const operations = (await handlers.operations()).filter((each) => !this.resting.has(each))
      if (operations.length === 0) return 0
      const owner = owners.next()
      const entries = await kit.store.deadLetters.leaseNext(
        { operations, statuses: ['pending', 'failed'], requested: true, limit },
        owner,
        replays.leaseEnd(),
        replays.now(),
      )
      this.complained = false
      for (const entry of entries) {
        const replay = this.serve(entry, owner).finally(() => this.running.delete(replay))
        this.running.add(replay)
      }
      return entries.length
    } catch (error) {
      this.complain(error)
      return 0
    }
  }

  private async serve(entry: DeadLetter, owner: string): Promise<void> {
    const { completed, handlers, kit, replays } = this.parts
    try {
      const replayer = await handlers.find(entry.operationType)
      if (replayer === undefined) return
      const { end, error } = await replays.serve(entry, owner, replayer, true)
      if (end === 'completed') await completed()
      if (end !== 'put_back') return
      const { retryAfter = this.interval } = (error ?? {}) as { retryAfter?: number }
      // Nobody's door is knocked at twice in a row; an entry that cannot be read holds up its own operation alone.
      this.resting.set(entry.operationType, kit.clock.now() + Math.max(this.interval, retryAfter))
      if (!isClosedDoor(error)) this.complain(error)
    } catch (error) {
      this.complain(error)
    }
  }

  private complain(error: unknown): void {
    if (!this.complained)
      this.parts.kit.complain(`requests to replay wait: ${this.parts.kit.redact(messageOf(error))}`)
    this.complained = true
  }
}
