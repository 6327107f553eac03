import { ACTOR, abortable, above, callable, check, count, countless, flag, text } from '../check.js'
import type { Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import type { Handlers } from './handlers.js'
import { LeaseBuffer } from './lease-buffer.js'
import { Recordings } from './recordings.js'
import { isClosedDoor, type Owners, type Replays, type Served } from './replays.js'
import { wait } from './wait.js'

/** Which entries are replayed, how many at a time, and how fast. */
export interface BatchOptions {
  /** Only entries of this operation. @defaultValue all */
  operation?: string | undefined
  /** The most to replay. @defaultValue all that wait now */
  limit?: number | undefined
  /** How many at a time. @defaultValue 4 */
  concurrency?: number | undefined
  /** How many are begun in a second at the most. @defaultValue as many as there are */
  rate?: number | undefined
  /** Takes entries whose replay failed, too. @defaultValue false */
  retryFailed?: boolean | undefined
  /** Told after each entry. */
  onProgress?: ((progress: BatchProgress) => void) | undefined
  /** No further entry is begun once it is aborted; those under way end as they would. */
  signal?: AbortSignal | undefined
}

/** What became of the entries of a batch. */
export interface BatchResult {
  succeeded: number
  failed: number
  /** Those that were not tried: the breaker opened, the signal was aborted, or their handler is elsewhere. */
  skipped: number
}

/** How far a batch is. */
export interface BatchProgress {
  succeeded: number
  failed: number
  /** How many there were at the beginning, within the limit. */
  total: number
  /** The entry that was just replayed. */
  entry: DeadLetter
}

const OPTIONS = {
  operation: text,
  limit: countless,
  concurrency: count,
  rate: above,
  retryFailed: flag,
  onProgress: callable,
  signal: abortable,
  ...ACTOR,
}

const DEFAULT_CONCURRENCY = 4

interface Parts {
  readonly kit: Kit
  readonly handlers: Handlers
  readonly replays: Replays
  readonly owners: Owners
  /** Aborted when the queue closes. */
  readonly closing: AbortSignal
}

/** One run over the entries that wait, oldest first. */
export class Batch {
  private succeeded = 0
  private failed = 0
  private begun = 0
  private total = 0
  private nextStart = Number.NEGATIVE_INFINITY
  /** Starts wait one behind the other, so that a signal has one listener however many lanes there are. */
  private turn = Promise.resolve()
  private halted = false
  private told = true
  /** Operations with a handler here whose door has not closed. */
  private readonly willing = new Set<string>()
  /** Entries that are replayed now, and those this batch is done with though they could be leased again. */
  private readonly passed = new Set<string>()
  private readonly leases: LeaseBuffer
  private readonly recordings: Recordings
  private readonly parts: Parts
  private readonly options: BatchOptions

  /** @throws INVALID_OPTIONS */
  constructor(parts: Parts, options: BatchOptions) {
    check('a batch cannot be replayed', options, {}, OPTIONS)
    this.parts = parts
    this.options = options
    const { kit, owners, replays } = parts
    this.leases = new LeaseBuffer({
      kit,
      owners,
      replays,
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      rate: options.rate,
      want: async () =>
        this.stopped || this.willing.size === 0
          ? undefined
          : { operations: [...this.willing], statuses: this.statuses, except: this.passed },
      free: (callers) => callers,
      most: (callers) => callers + this.total - this.begun,
      isWanted: ({ operationType }) => !this.stopped && this.willing.has(operationType),
    })
    this.recordings = new Recordings(kit)
  }

  async run(): Promise<BatchResult> {
    const elsewhere = await this.survey()
    const lanes = Math.min(this.options.concurrency ?? DEFAULT_CONCURRENCY, this.total)
    const ended = await Promise.allSettled(Array.from({ length: lanes }, () => this.lane()))
    ended.push(...(await Promise.allSettled([this.recordings.idle(), this.leases.close()])))
    const broken = ended.find((part) => part.status === 'rejected')
    if (broken !== undefined) throw broken.reason
    const { succeeded, failed, total } = this
    return {
      succeeded,
      failed,
      skipped: Math.max(0, total - succeeded - failed) + (await this.request(elsewhere)),
    }
  }

  private get statuses(): readonly ('pending' | 'failed')[] {
    return this.options.retryFailed ? ['pending', 'failed'] : ['pending']
  }

  private get stopped(): boolean {
    return this.halted || this.options.signal?.aborted === true || this.parts.closing.aborted
  }

  /** Counts what there is to do, and tells which operations have their handlers elsewhere. */
  private async survey(): Promise<string[]> {
    const { handlers, kit, replays } = this.parts
    const { operation, limit = Number.POSITIVE_INFINITY } = this.options
    const { byOperation } = await kit.store.deadLetters.stats(replays.now())
    const elsewhere: string[] = []
    for (const [name, counts] of Object.entries(byOperation)) {
      if (operation !== undefined && name !== operation) continue
      if ((await handlers.find(name)) === undefined) {
        elsewhere.push(name)
        continue
      }
      this.willing.add(name)
      for (const each of this.statuses) this.total += counts[each]
    }
    this.total = Math.min(this.total, limit)
    return elsewhere
  }

  /** Replays one entry after the other until nothing is left for it. */
  private async lane(): Promise<void> {
    const { clock } = this.parts.kit
    while (this.begun < this.total && !this.stopped && this.willing.size > 0) {
      this.begun++
      await (this.turn = this.turn.then(() => this.pace(clock)))
      if (this.stopped) return
      try {
        if (!(await this.replayNext())) return
      } catch (error) {
        this.halted = true
        throw error
      }
    }
  }

  /** Waits for this start's turn. */
  private async pace(clock: Kit['clock']): Promise<void> {
    const { rate, signal } = this.options
    if (rate === undefined) return
    const start = Math.max(clock.now(), this.nextStart)
    this.nextStart = start + 1000 / rate
    await wait(clock, start - clock.now(), [signal, this.parts.closing])
  }

  /** False where nothing is left. */
  private async replayNext(): Promise<boolean> {
    const { handlers, replays } = this.parts
    const leased = await this.leases.next()
    if (leased === undefined) return false
    const { entry, owner } = leased
    this.passed.add(entry.dlqId)
    const replayer = await handlers.find(entry.operationType)
    if (replayer === undefined) {
      this.leases.giveBack(leased)
      return true
    }
    const replayed = await replays.execute(entry, owner, replayer, true)
    if (isClosedDoor(replayed.error)) this.willing.delete(entry.operationType)
    await this.recordings.add(async () => {
      try {
        this.note(await replayed.record())
      } catch (error) {
        this.halted = true
        throw error
      }
    })
    return true
  }

  private note({ end, entry }: Served): void {
    if (end === 'completed') this.succeeded++
    else if (end === 'failed') this.failed++
    // No lease is ever given on it again to this batch, so that it need not be passed over.
    if (end === 'completed' || (end === 'failed' && !this.options.retryFailed))
      this.passed.delete(entry.dlqId)
    const { succeeded, failed, total } = this
    try {
      this.options.onProgress?.({ succeeded, failed, total, entry })
    } catch (thrown) {
      if (this.told) this.parts.kit.complain(`onProgress of a batch threw, and is ignored: ${String(thrown)}`)
      this.told = false
    }
  }

  /** Notes a request on the entries whose handlers are elsewhere, and tells how many there are. */
  private async request(operations: readonly string[]): Promise<number> {
    const { kit, replays } = this.parts
    let left = (this.options.limit ?? Number.POSITIVE_INFINITY) - this.total
    let requested = 0
    for (const operation of operations) {
      let cursor: string | undefined
      do {
        if (left <= 0 || this.stopped) return requested
        const filter = { operation, status: this.statuses, limit: Math.min(left, 500), cursor }
        const page = await kit.store.deadLetters.list(filter, replays.now())
        await Promise.all(page.items.map(({ dlqId }) => kit.store.deadLetters.request(dlqId, replays.now())))
        requested += page.items.length
        left -= page.items.length
        cursor = page.cursor
      } while (cursor !== undefined)
    }
    return requested
  }
}
