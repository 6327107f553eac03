import type { Kit } from '../kit.js'
import { BEAT, LEAVE, LIVE, LIVING } from './fleet-scripts.js'
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
        const [known, live] = (await wire.run(BEAT, KEYS, args)) as number[]
        this.live = live ?? UNKNOWN
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
      const [live, known] = (await this.wire.run(LIVE, [KEYS[0]], [this.options.self().id])) as number[]
      return known === 1 && this.kit.clock.now() >= this.sureFrom ? live : UNSURE
    } catch {
      return this.wire.up ? UNSURE : undefined
    }
  }

  /** Those of the nodes that live by what Redis knows now. @throws where it is lost */
  async living(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set((await this.wire.run(LIVING, [KEYS[0]], nodes)) as string[])
  }

  /** The nodes that live; this one alone where Redis is lost. */
  async list(): Promise<FleetNode[]> {
    try {
      const all = (await this.wire.send('HGETALL', KEYS[1])) as string[]
      const pairs = Array.from(
        { length: all.length / 2 },
        (_, i) => [all[2 * i], all[2 * i + 1]] as [string, string],
      )
      return pairs
        .map(([id, text]) => {
          const { version, startedAt, lastSeen, opinions } = JSON.parse(text)
          return { id, version, startedAt: new Date(startedAt), lastSeen: new Date(lastSeen), opinions }
        })
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    } catch {
      return [this.options.self()]
    }
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
