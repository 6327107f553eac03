import { eventCodec, type RetryEvent } from '@holdfast/runtime'
import type { Clock } from 'holdfast'
import { type KnownTokens, knownTokens } from '../access/tokens.js'
import type { HoldfastLike } from '../hf.js'
import { accepts, type EventChoice, Reader } from './reader.js'

/** How many recent events are at hand, so that a reader who comes back soon is served without the store. */
const RECENT = 4096

/** How many events of the store are read at once for a reader who was long away. */
const PAGE = 500

/** Few readers hear of an event at once; many share a write, so that an event costs the process the same. */
const FEW = 16
const PER_READER = 0.5
const LONGEST = 500

/** How soon a reader is sent away whose token was revoked, by whichever process. */
const RECHECK = 1000

const encoder = new TextEncoder()
const BEAT = encoder.encode(': beat\n\n')

/** An event as it is sent, encoded when somebody first wants it and never again. */
class Item {
  readonly event: RetryEvent
  private text: string | undefined

  constructor(event: RetryEvent) {
    this.event = event
  }

  get frame(): string {
    this.text ??= `id: ${this.event.eventId}\nevent: ${this.event.eventType}\ndata: ${JSON.stringify(eventCodec.encode(this.event))}\n\n`
    return this.text
  }
}

export interface FeedOptions {
  readonly clock: Clock
  /** Milliseconds between signs of life. */
  readonly heartbeat: number
  /** Bytes that may wait for a reader. */
  readonly buffer: number
}

/** Events as they happen, for any number of readers. */
export class Feed {
  private readonly recent: Item[] = []
  /** How often some were let go of. */
  private forgotten = 0
  /** Those of them that were not sent yet. */
  private fresh: Item[] = []
  private readonly readers = new Set<Reader>()
  private readonly hf: HoldfastLike
  private readonly options: FeedOptions
  private readonly off: () => void
  private timer: unknown
  private beat: unknown
  private check: unknown

  constructor(hf: HoldfastLike, options: FeedOptions) {
    this.hf = hf
    this.options = options
    this.off = hf.events.on('*', (event) => this.hear(event))
  }

  get size(): number {
    return this.readers.size
  }

  /** A stream of events from now on, or from the one after `lastEventId`. */
  open(
    choice: EventChoice,
    lastEventId: string | undefined,
    allowed: (known: KnownTokens) => boolean,
  ): ReadableStream {
    const reader = new Reader(choice, this.options.buffer, allowed, () => this.leave(reader))
    this.readers.add(reader)
    this.scheduleBeat()
    this.scheduleCheck()
    reader.write(encoder.encode(`retry: 1000\n: connected\n\n`))
    if (lastEventId !== undefined) {
      reader.held = true
      void this.catchUp(reader, lastEventId)
    }
    return reader.stream
  }

  close(): void {
    this.off()
    const { clock } = this.options
    clock.clearTimer(this.timer)
    clock.clearTimer(this.beat)
    clock.clearTimer(this.check)
    for (const reader of this.readers) reader.end()
  }

  private hear(event: RetryEvent): void {
    const item = new Item(event)
    this.recent.push(item)
    // Now and then, so that it is not all moved for each event.
    if (this.recent.length >= 2 * RECENT) {
      this.recent.splice(0, RECENT)
      this.forgotten++
    }
    if (this.readers.size === 0) return
    this.fresh.push(item)
    const { size } = this.readers
    const linger = size <= FEW ? 0 : Math.min(LONGEST, size * PER_READER)
    this.timer ??= this.options.clock.setTimer(() => this.send(), linger)
  }

  /** Sends what is new. Readers who want the same share the bytes. */
  private send(): void {
    this.timer = undefined
    const { fresh } = this
    this.fresh = []
    const chunks = new Map<string, Uint8Array | undefined>()
    for (const reader of this.readers) {
      if (reader.held) continue
      const { key } = reader.choice
      if (!chunks.has(key)) chunks.set(key, chunkOf(fresh, reader.choice))
      const chunk = chunks.get(key)
      if (chunk !== undefined) reader.write(chunk)
    }
  }

  /**
   * Sends what a reader missed: from the store what is no longer at hand, then what is. Meanwhile it is kept from what is
   * new; the last step and its release happen in one turn, so that nothing falls between them.
   */
  private async catchUp(reader: Reader, lastEventId: string): Promise<void> {
    try {
      let last = lastEventId
      if (!this.recent.some(({ event }) => event.eventId === last)) last = await this.fromStore(reader, last)
      for (;;) {
        const missed = this.missed(last).slice(0, PAGE)
        const newest = missed.at(-1)
        if (newest === undefined || reader.ended) break
        last = newest.event.eventId
        await this.tell(reader, missed)
      }
      reader.held = false
    } catch {
      reader.end()
    }
  }

  /** What is at hand and was sent to the others after an event. */
  private missed(last: string): Item[] {
    const unsent = new Set(this.fresh)
    return this.recent.filter((item) => item.event.eventId > last && !unsent.has(item))
  }

  private async fromStore(reader: Reader, lastEventId: string): Promise<string> {
    const { types, operations } = reader.choice
    let last = lastEventId
    let forgotten: number
    do {
      // What is let go of here while the store is read may be in the store by now: then it is read once more.
      forgotten = this.forgotten
      const after = last
      let cursor: string | undefined
      do {
        const filter = { after, types, operations, order: 'oldest', limit: PAGE, cursor } as const
        const page = await this.hf.events.list(filter)
        last = page.items.at(-1)?.eventId ?? last
        cursor = page.cursor
        await this.tell(
          reader,
          page.items.map((event) => new Item(event)),
        )
      } while (cursor !== undefined && !reader.ended)
    } while (forgotten !== this.forgotten && !reader.ended)
    return last
  }

  private async tell(reader: Reader, items: readonly Item[]): Promise<void> {
    const chunk = chunkOf(items, reader.choice)
    if (chunk === undefined) return
    reader.write(chunk)
    await reader.drained()
  }

  private scheduleBeat(): void {
    this.beat ??= this.options.clock.setTimer(() => {
      this.beat = undefined
      for (const reader of this.readers) reader.write(BEAT)
      if (this.readers.size > 0) this.scheduleBeat()
    }, this.options.heartbeat)
  }

  private scheduleCheck(): void {
    this.check ??= this.options.clock.setTimer(() => void this.recheck(), RECHECK)
  }

  /** Looks who may still read. The tokens are read once for all. */
  private async recheck(): Promise<void> {
    this.check = undefined
    // While the store cannot be asked, nobody is sent away.
    const known = await knownTokens(this.hf.store.values).catch(() => undefined)
    if (known !== undefined) for (const reader of this.readers) reader.recheck(known)
    if (this.readers.size > 0) this.scheduleCheck()
  }

  private leave(reader: Reader): void {
    this.readers.delete(reader)
    if (this.readers.size > 0) return
    const { clock } = this.options
    clock.clearTimer(this.beat)
    clock.clearTimer(this.timer)
    clock.clearTimer(this.check)
    this.beat = undefined
    this.timer = undefined
    this.check = undefined
    this.fresh = []
  }
}

function chunkOf(items: readonly Item[], choice: EventChoice): Uint8Array | undefined {
  const text = items
    .filter(({ event }) => accepts(choice, event))
    .map(({ frame }) => frame)
    .join('')
  return text === '' ? undefined : encoder.encode(text)
}
