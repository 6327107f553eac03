import type { RuntimeContext } from '@holdfast/config'
import { DAY_MS, eventCodec, type RetryEvent } from '@holdfast/records'
import { APPEND } from './lua/scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { setUnrefTimer } from './unref-timer.js'

const STREAM_KEY = 'holdfast:events'

/** About how many events are kept, and for how long after the last one. */
const MAX_EVENTS = 10_000
const EVENT_TTL_MS = DAY_MS

/** How long events wait to be sent in one batch, how many a batch has, and how many can wait. */
const FLUSH_DELAY_MS = 50
const BATCH_SIZE = 100
const MAX_PENDING = 1000

/** An event of one node. A reader continues after its `place`. */
export interface FleetEvent {
  /** The position in the stream of events. */
  readonly place: string
  /** The id of the node. */
  readonly node: string
  /** The event. */
  readonly event: RetryEvent
}

/** The events of every node, in one bounded stream. */
export class FleetEventStream {
  /** Number of events that were not sent, because Redis was not available or too slow. */
  dropped = 0
  private pending: RetryEvent[] = []
  private timer: unknown = undefined
  private sending: Promise<void> | undefined
  private readonly runtime: RuntimeContext
  private readonly redis: RedisConnection
  private readonly node: string

  private readonly onInvalidReply: (problem: string) => void

  constructor(
    runtime: RuntimeContext,
    redis: RedisConnection,
    node: string,
    onInvalidReply: (problem: string) => void,
  ) {
    this.runtime = runtime
    this.redis = redis
    this.node = node
    this.onInvalidReply = onInvalidReply
  }

  add(event: RetryEvent): void {
    if (!this.redis.isUp || this.pending.length >= MAX_PENDING) this.dropped++
    else {
      this.pending.push(event)
      this.timer ??= setUnrefTimer(this.runtime.clock, () => void this.flush(), FLUSH_DELAY_MS)
    }
  }

  /** Returns the events after a place, oldest first; none if Redis is not available. */
  async list({
    after,
    limit = 100,
  }: {
    after?: string | undefined
    limit?: number | undefined
  } = {}): Promise<FleetEvent[]> {
    const start = after === undefined ? '-' : `(${after}`
    try {
      const entries = (await this.redis.send('XRANGE', STREAM_KEY, start, '+', 'COUNT', limit)) as unknown[]
      return entries.flatMap((entry) => this.read(entry) ?? [])
    } catch {
      return []
    }
  }

  /** Parses one entry of the stream; undefined if it is not an event of a node. */
  private read(entry: unknown): FleetEvent | undefined {
    try {
      const [place, [, node, , text]] = entry as [string, string[]]
      return {
        place: String(place),
        node: String(node),
        event: eventCodec.decode(JSON.parse(text ?? '')) as RetryEvent,
      }
    } catch {
      this.onInvalidReply('events: expected an event of a node')
      return undefined
    }
  }

  /** Sends the events that wait, one batch after another, so that they are stored in their order. */
  flush(): Promise<void> {
    this.runtime.clock.clearTimer(this.timer)
    this.timer = undefined
    this.sending ??= this.sendPending().finally(() => {
      this.sending = undefined
    })
    return this.sending
  }

  private async sendPending(): Promise<void> {
    const { redis, node } = this
    while (this.pending.length > 0 && redis.isUp) {
      const batch = this.pending.splice(0, BATCH_SIZE)
      const texts = batch.map((event) => JSON.stringify(eventCodec.encode(event)))
      await redis.run(APPEND, [STREAM_KEY], [node, MAX_EVENTS, EVENT_TTL_MS, ...texts]).catch(() => {
        this.dropped += batch.length
      })
    }
  }
}
