import type { Kit } from '../kit.js'
import { eventCodec, type RetryEvent } from '../records/session.js'
import { APPEND } from './fleet-scripts.js'
import { timer } from './timer.js'
import type { Wire } from './wire.js'

const KEY = 'holdfast:events'

/** About so many events are kept, for so long after the last. */
const KEPT = 10_000
const AGE = 86_400_000

/** How long events wait for others to be sent with them, how many are sent at once, and how many may wait. */
const LINGER = 50
const BATCH = 100
const WAITING = 1000

/** An event of some node. Its place is where a reader can go on from. */
export interface FleetEvent {
  readonly place: string
  readonly node: string
  readonly event: RetryEvent
}

/** The events of every node, in one bounded stream. */
export class EventStream {
  /** Events that were not sent, because Redis was lost or slow. */
  dropped = 0
  private waiting: RetryEvent[] = []
  private timing: unknown = undefined
  private readonly kit: Kit
  private readonly wire: Wire
  private readonly node: string

  private readonly onInvalidReply: (problem: string) => void

  constructor(kit: Kit, wire: Wire, node: string, onInvalidReply: (problem: string) => void) {
    this.kit = kit
    this.wire = wire
    this.node = node
    this.onInvalidReply = onInvalidReply
  }

  add(event: RetryEvent): void {
    if (!this.wire.up || this.waiting.length >= WAITING) this.dropped++
    else {
      this.waiting.push(event)
      this.timing ??= timer(this.kit.clock, () => void this.flush(), LINGER)
    }
  }

  /** The events after a place, oldest first. None where Redis is lost. */
  async list({
    after,
    limit = 100,
  }: {
    after?: string | undefined
    limit?: number | undefined
  } = {}): Promise<FleetEvent[]> {
    const start = after === undefined ? '-' : `(${after}`
    try {
      const entries = (await this.wire.send('XRANGE', KEY, start, '+', 'COUNT', limit)) as unknown[]
      return entries.flatMap((entry) => this.read(entry) ?? [])
    } catch {
      return []
    }
  }

  /** One entry of the stream; undefined for what is no event of a node. */
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

  async flush(): Promise<void> {
    this.kit.clock.clearTimer(this.timing)
    this.timing = undefined
    const { wire, node } = this
    while (this.waiting.length > 0 && wire.up) {
      const batch = this.waiting.splice(0, BATCH)
      const texts = batch.map((event) => JSON.stringify(eventCodec.encode(event)))
      await wire.run(APPEND, [KEY], [node, KEPT, AGE, ...texts]).catch(() => {
        this.dropped += batch.length
      })
    }
  }
}
