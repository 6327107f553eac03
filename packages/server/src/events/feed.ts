import { eventCodec, type RetryEvent } from '@holdfast/runtime'
import type { Clock } from 'holdfast'
import { type KnownCredentials, knownCredentials } from '../auth/sign-ins.js'
import type { HoldfastLike } from '../runtime-api.js'
import { type EventSelection, FeedReader, isSelected } from './reader.js'

/** How many recent events are kept in memory, so that a reader that reconnects soon is served without the store. */
const MAX_RECENT_EVENTS = 4096

/** How many events are read from the store at once for a reader that reconnects late. */
const CATCH_UP_PAGE_SIZE = 500

/** Few readers receive an event at once. With many readers events are sent in batches, which keeps the cost per event low. */
const IMMEDIATE_READERS = 16
const DELAY_PER_READER_MS = 0.5
const MAX_DELAY_MS = 500

/** A batch of this many events is sent without a delay: it takes 4 ms of processor time, and a larger one more. */
const MAX_BATCH_SIZE = 1000

/** How often the tokens of readers are checked: a token can be revoked by another process. */
const TOKEN_CHECK_MS = 1000

const encoder = new TextEncoder()
const HEARTBEAT_FRAME = encoder.encode(': beat\n\n')

/** The frame of an event in the stream. JSON contains no line break, so the data is one line. */
export const formatFrame = (event: RetryEvent): string =>
  `id: ${event.eventId}\nevent: ${event.eventType}\ndata: ${JSON.stringify(eventCodec.encode(event))}\n\n`

/** An event with its encoded frame, which is created once for all readers. */
class FeedItem {
  readonly event: RetryEvent
  private text: string | undefined

  constructor(event: RetryEvent) {
    this.event = event
  }

  get frame(): string {
    this.text ??= formatFrame(this.event)
    return this.text
  }
}

export interface FeedOptions {
  readonly clock: Clock
  /** The interval of heartbeats in milliseconds. */
  readonly heartbeat: number
  /** How many bytes can wait for a reader. */
  readonly buffer: number
}

/** Sends live events to any number of readers. */
export class EventFeed {
  private readonly recent: FeedItem[] = []
  /** How often old events were removed from `recent`. */
  private trimCount = 0
  /** The events of `recent` that were not sent yet. */
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

  /** Opens a stream of events that begins now, or with the event after `lastEventId`, and ends when `signal` is aborted. */
  open(
    selection: EventSelection,
    lastEventId: string | undefined,
    isAllowed: (known: KnownCredentials) => boolean,
    signal: AbortSignal,
  ): ReadableStream {
    const reader = new FeedReader(selection, this.options.buffer, isAllowed, () => this.removeReader(reader))
    this.readers.add(reader)
    // The server does not cancel the stream of a client that disconnects before its response begins.
    signal.addEventListener('abort', () => reader.end(), { once: true })
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
    // Trimmed in large steps, so that the array is not moved for each event.
    if (this.recent.length >= 2 * MAX_RECENT_EVENTS) {
      this.recent.splice(0, MAX_RECENT_EVENTS)
      this.trimCount++
    }
    if (this.readers.size === 0) return
    this.unsent.push(item)
    const { clock } = this.options
    const { size } = this.readers
    const isFull = this.unsent.length >= MAX_BATCH_SIZE
    const delay = size <= IMMEDIATE_READERS || isFull ? 0 : Math.min(MAX_DELAY_MS, size * DELAY_PER_READER_MS)
    if (this.unsent.length === MAX_BATCH_SIZE) {
      clock.clearTimer(this.timer)
      this.timer = undefined
    }
    this.timer ??= clock.setTimer(() => this.send(), delay)
  }

  /** Sends the unsent events. Readers with the same selection share the encoded bytes. */
  private send(): void {
    this.timer = undefined
    const { unsent } = this
    this.unsent = []
    const chunks = new Map<string, Uint8Array | undefined>()
    for (const reader of this.readers) {
      if (reader.isCatchingUp) continue
      const { key } = reader.selection
      if (!chunks.has(key)) chunks.set(key, encodeChunk(unsent, reader.selection))
      const chunk = chunks.get(key)
      if (chunk !== undefined) reader.write(chunk)
    }
  }

  /**
   * Sends the events that a reader missed: first those that are only in the store, then the recent ones. New events are
   * withheld meanwhile. The last step and the end of catching up happen in the same turn, so that no event is lost between.
   */
  private async catchUp(reader: FeedReader, lastEventId: string): Promise<void> {
    try {
      let last = lastEventId
      if (!this.recent.some(({ event }) => event.eventId === last)) last = await this.sendStored(reader, last)
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

  /** The recent events after the given one that the other readers have received. */
  private recentAfter(last: string): FeedItem[] {
    const unsent = new Set(this.unsent)
    return this.recent.filter((item) => item.event.eventId > last && !unsent.has(item))
  }

  private async sendStored(reader: FeedReader, lastEventId: string): Promise<string> {
    const { types, operations } = reader.selection
    let last = lastEventId
    let trimCount: number
    do {
      // Events that are trimmed from memory while the store is read can be in the store by now, so it is read again.
      trimCount = this.trimCount
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
    } while (trimCount !== this.trimCount && !reader.isEnded)
    return last
  }

  private async sendTo(reader: FeedReader, items: readonly FeedItem[]): Promise<void> {
    const chunk = encodeChunk(items, reader.selection)
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

  /** Ends readers whose tokens were revoked or who signed out. The credentials are read once for all readers. */
  private async checkTokens(): Promise<void> {
    this.tokenTimer = undefined
    // Readers stay connected while the store cannot be reached.
    const known = await knownCredentials(this.hf.store.values).catch(() => undefined)
    if (known !== undefined) for (const reader of this.readers) reader.checkCredentials(known)
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

function encodeChunk(items: readonly FeedItem[], selection: EventSelection): Uint8Array | undefined {
  const text = items
    .filter(({ event }) => isSelected(selection, event))
    .map(({ frame }) => frame)
    .join('')
  return text === '' ? undefined : encoder.encode(text)
}
