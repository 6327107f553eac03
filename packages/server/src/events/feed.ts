import { eventCodec, type RetryEvent } from '@holdfast/runtime'
import type { Clock } from 'holdfast'
import { type KnownTokens, knownTokens } from '../auth/tokens.js'
import type { HoldfastLike } from '../runtime-api.js'
import { type EventSelection, FeedReader, isSelected } from './reader.js'

/** How many recent events are at hand, so that a reader who comes back soon is served without the store. */
const MAX_RECENT_EVENTS = 4096

/** How many events of the store are read at once for a reader who was long away. */
const CATCH_UP_PAGE_SIZE = 500

/** Few readers hear of an event at once; many share a write, so that an event costs the process the same. */
const IMMEDIATE_READERS = 16
const DELAY_PER_READER_MS = 0.5
const MAX_DELAY_MS = 500

/** How soon a reader is sent away whose token was revoked, by whichever process. */
const TOKEN_CHECK_MS = 1000

const encoder = new TextEncoder()
const HEARTBEAT_FRAME = encoder.encode(': beat\n\n')

/** An event as it is sent, encoded when somebody first wants it and never again. */
class FeedItem {
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
export class EventFeed {
  private readonly recent: FeedItem[] = []
  /** How often some were let go of. */
  private trimCount = 0
  /** Those of them that were not sent yet. */
  private unsent: FeedItem[] = []
  private readonly readers = new Set<FeedReader>()
  private readonly hf: HoldfastLike
  private readonly options: FeedOptions
  private readonly unsubscribe: () => void
  private timer: unknown
  private heartbeatTimer: unknown
  private tokenTimer: unknown

  constructor(hf: HoldfastLike, options: FeedOptions) {
    this.hf = hf
    this.options = options
    this.unsubscribe = hf.events.on('*', (event) => this.onEvent(event))
  }

  get size(): number {
    return this.readers.size
  }

  /** A stream of events from now on, or from the one after `lastEventId`. */
  open(
    choice: EventSelection,
    lastEventId: string | undefined,
    allowed: (known: KnownTokens) => boolean,
  ): ReadableStream {
    const reader = new FeedReader(choice, this.options.buffer, allowed, () => this.removeReader(reader))
    this.readers.add(reader)
    this.scheduleHeartbeat()
    this.scheduleCheck()
    reader.write(encoder.encode(`retry: 1000\n: connected\n\n`))
    if (lastEventId !== undefined) {
      reader.isCatchingUp = true
      void this.catchUp(reader, lastEventId)
    }
    return reader.stream
  }

  close(): void {
    this.unsubscribe()
    const { clock } = this.options
    clock.clearTimer(this.timer)
    clock.clearTimer(this.heartbeatTimer)
    clock.clearTimer(this.tokenTimer)
    for (const reader of this.readers) reader.end()
  }

  private onEvent(event: RetryEvent): void {
    const item = new FeedItem(event)
    this.recent.push(item)
    // Now and then, so that it is not all moved for each event.
    if (this.recent.length >= 2 * MAX_RECENT_EVENTS) {
      this.recent.splice(0, MAX_RECENT_EVENTS)
      this.trimCount++
    }
    if (this.readers.size === 0) return
    this.unsent.push(item)
    const { size } = this.readers
    const linger = size <= IMMEDIATE_READERS ? 0 : Math.min(MAX_DELAY_MS, size * DELAY_PER_READER_MS)
    this.timer ??= this.options.clock.setTimer(() => this.send(), linger)
  }

  /** Sends what is new. Readers who want the same share the bytes. */
  private send(): void {
    this.timer = undefined
    const { unsent } = this
    this.unsent = []
    const chunks = new Map<string, Uint8Array | undefined>()
    for (const reader of this.readers) {
      if (reader.isCatchingUp) continue
      const { key } = reader.choice
      if (!chunks.has(key)) chunks.set(key, encodeChunk(unsent, reader.choice))
      const chunk = chunks.get(key)
      if (chunk !== undefined) reader.write(chunk)
    }
  }

  /**
   * Sends what a reader missed: from the store what is no longer at hand, then what is. Meanwhile it is kept from what is
   * new; the last step and its release happen in one turn, so that nothing falls between them.
   */
  private async catchUp(reader: FeedReader, lastEventId: string): Promise<void> {
    try {
      let last = lastEventId
      if (!this.recent.some(({ event }) => event.eventId === last)) last = await this.fromStore(reader, last)
      for (;;) {
        const missed = this.recentAfter(last).slice(0, CATCH_UP_PAGE_SIZE)
        const newest = missed.at(-1)
        if (newest === undefined || reader.isEnded) break
        last = newest.event.eventId
        await this.sendTo(reader, missed)
      }
      reader.isCatchingUp = false
    } catch {
      reader.end()
    }
  }

  /** What is at hand and was sent to the others after an event. */
  private recentAfter(last: string): FeedItem[] {
    const unsent = new Set(this.unsent)
    return this.recent.filter((item) => item.event.eventId > last && !unsent.has(item))
  }

  private async fromStore(reader: FeedReader, lastEventId: string): Promise<string> {
    const { types, operations } = reader.choice
    let last = lastEventId
    let forgotten: number
    do {
      // What is let go of here while the store is read may be in the store by now: then it is read once more.
      forgotten = this.trimCount
      const after = last
      let cursor: string | undefined
      do {
        const filter = {
          after,
          types,
          operations,
          order: 'oldest',
          limit: CATCH_UP_PAGE_SIZE,
          cursor,
        } as const
        const page = await this.hf.events.list(filter)
        last = page.items.at(-1)?.eventId ?? last
        cursor = page.cursor
        await this.sendTo(
          reader,
          page.items.map((event) => new FeedItem(event)),
        )
      } while (cursor !== undefined && !reader.isEnded)
    } while (forgotten !== this.trimCount && !reader.isEnded)
    return last
  }

  private async sendTo(reader: FeedReader, items: readonly FeedItem[]): Promise<void> {
    const chunk = encodeChunk(items, reader.choice)
    if (chunk === undefined) return
    reader.write(chunk)
    await reader.drained()
  }

  private scheduleHeartbeat(): void {
    this.heartbeatTimer ??= this.options.clock.setTimer(() => {
      this.heartbeatTimer = undefined
      for (const reader of this.readers) reader.write(HEARTBEAT_FRAME)
      if (this.readers.size > 0) this.scheduleHeartbeat()
    }, this.options.heartbeat)
  }

  private scheduleCheck(): void {
    this.tokenTimer ??= this.options.clock.setTimer(() => void this.checkTokens(), TOKEN_CHECK_MS)
  }

  /** Looks who may still read. The tokens are read once for all. */
  private async checkTokens(): Promise<void> {
    this.tokenTimer = undefined
    // While the store cannot be asked, nobody is sent away.
    const known = await knownTokens(this.hf.store.values).catch(() => undefined)
    if (known !== undefined) for (const reader of this.readers) reader.checkToken(known)
    if (this.readers.size > 0) this.scheduleCheck()
  }

  private removeReader(reader: FeedReader): void {
    this.readers.delete(reader)
    if (this.readers.size > 0) return
    const { clock } = this.options
    clock.clearTimer(this.heartbeatTimer)
    clock.clearTimer(this.timer)
    clock.clearTimer(this.tokenTimer)
    this.heartbeatTimer = undefined
    this.timer = undefined
    this.tokenTimer = undefined
    this.unsent = []
  }
}

function encodeChunk(items: readonly FeedItem[], choice: EventSelection): Uint8Array | undefined {
  const text = items
    .filter(({ event }) => isSelected(choice, event))
    .map(({ frame }) => frame)
    .join('')
  return text === '' ? undefined : encoder.encode(text)
}
