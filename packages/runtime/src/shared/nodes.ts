import type { Kit } from '../kit.js'
import { BEAT, LEAVE, LIVE, LIVING } from './fleet-scripts.js'
import { type Parsed, parseBeat, parseLive, parseNodeIds, parseNodeRecord } from './replies.js'
import { timer } from './timer.js'
import { LONGEST, type Wire } from './wire.js'

/** A process of the fleet, as it last described itself. */
export interface FleetNode {
  readonly id: string
  readonly version: string
  readonly startedAt: Date
  /** When it last said that it lives, by its own clock. */
  readonly lastSeen: Date
  /** Its breakers that are not closed, with the state of each; at most 1,000. */
  readonly opinions: Readonly<Record<string, string>>
}

const KEYS = ['holdfast:{nodes}:live', 'holdfast:{nodes}:records'] as const

/** How many nodes there are taken to be while that is not known. */
const UNKNOWN = 2

/** A count of nodes that is not sure: more than there can be, so that no vote is decided before its time is up. */
export const UNSURE = 1e9

/** A node that was silent for so many heartbeats has left. */
const SILENCE = 3

export interface NodesOptions {
  heartbeat: number
  /** This node, by its own word. */
  self(): FleetNode
  /** Redis knows nothing of this node though it has said that it lives. */
  forgotten(): void
  /** After each heartbeat. */
  beaten(): void
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

/** Says that this node lives, and knows who else does. */
export class Nodes {
  /** How many live, this one included. While that is not known it is more than one: nobody speaks for all by mistake. */
  live = UNKNOWN
  private readonly kit: Kit
  private readonly wire: Wire
  private readonly options: NodesOptions
  private known = false
  /** From when on every node that lives has said so to the Redis that this one speaks with. */
  private sureFrom = Number.POSITIVE_INFINITY
  private wasLost = false
  private next: unknown = undefined
  private closed = false

  constructor(kit: Kit, wire: Wire, options: NodesOptions) {
    this.kit = kit
    this.wire = wire
    this.options = options
  }

  start(): void {
    const { heartbeat } = this.options
    // Chance spreads the heartbeats of nodes that start together.
    const beat = () => {
      this.next = timer(
        this.kit.clock,
        () => void this.beat().finally(() => this.closed || beat()),
        heartbeat * (0.8 + 0.2 * this.kit.random()),
      )
    }
    beat()
  }

  /** Says that this node lives. */
  async beat(): Promise<void> {
    const { wire, options } = this
    if (wire.up) {
      const { id, ...record } = options.self()
      const args = [id, JSON.stringify(record), options.heartbeat * SILENCE]
      try {
        const [known, live] = this.read(parseBeat(await wire.run(BEAT, KEYS, args)))
        this.live = live
        const forgotten = this.known && known === 0
        // After one heartbeat all others have said that they live. Those who lost Redis must find their way back first.
        if (forgotten || this.sureFrom === Number.POSITIVE_INFINITY)
          this.sureFrom = this.kit.clock.now() + options.heartbeat + (forgotten || this.wasLost ? LONGEST : 0)
        this.known = true
        if (forgotten) options.forgotten()
        await wire.check()
      } catch {
        // Redis is lost, which is told elsewhere.
      }
    }
    options.beaten()
  }

  /**
   * How many live by what Redis knows now. Soon after this node met it, or was forgotten by it, others may not have said yet
   * that they live: the count is `UNSURE` then. Undefined where Redis is lost.
   */
  async count(): Promise<number | undefined> {
    try {
      const reply = await this.wire.run(LIVE, [KEYS[0]], [this.options.self().id])
      const [live, known] = this.read(parseLive(reply))
      return known === 1 && this.kit.clock.now() >= this.sureFrom ? live : UNSURE
    } catch {
      return this.wire.up ? UNSURE : undefined
    }
  }

  /** Those of the nodes that live by what Redis knows now. @throws where it is lost */
  async living(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(this.read(parseNodeIds(await this.wire.run(LIVING, [KEYS[0]], nodes))))
  }

  /** The nodes that live; this one alone where Redis is lost. */
  async list(): Promise<FleetNode[]> {
    try {
      const all = (await this.wire.send('HGETALL', KEYS[1])) as unknown[]
      const nodes: FleetNode[] = []
      for (let i = 0; i < all.length; i += 2) {
        const parsed = parseNodeRecord(all[i + 1])
        if ('value' in parsed) nodes.push({ id: String(all[i]), ...parsed.value })
        else this.options.onInvalidReply(parsed.problem)
      }
      return nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    } catch {
      return [this.options.self()]
    }
  }

  /** @throws where it is not valid, which is told */
  private read<T>(parsed: Parsed<T>): T {
    if ('value' in parsed) return parsed.value
    this.options.onInvalidReply(parsed.problem)
    throw new Error(parsed.problem)
  }

  /** Redis was lost. */
  lost(): void {
    this.live = UNKNOWN
    this.sureFrom = Number.POSITIVE_INFINITY
    this.wasLost = true
  }

  async close(): Promise<void> {
    this.closed = true
    this.kit.clock.clearTimer(this.next)
    await this.wire.run(LEAVE, KEYS, [this.options.self().id]).catch(() => {})
  }
}
