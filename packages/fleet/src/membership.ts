import type { RuntimeContext } from '@holdfast/config'
import { COUNT_LIVE, FILTER_LIVE, HEARTBEAT, LEAVE } from './fleet-scripts.js'
import { MAX_RECONNECT_MS, type RedisConnection } from './redis-connection.js'
import { type Parsed, parseHeartbeat, parseLive, parseNodeIds, parseNodeRecord } from './replies.js'
import { setUnrefTimer } from './unref-timer.js'

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

const NODE_KEYS = ['holdfast:{nodes}:live', 'holdfast:{nodes}:records'] as const

/** How many nodes there are taken to be while that is not known. */
const ASSUMED_NODES = 2

/** A count of nodes that is not sure: more than there can be, so that no vote is decided before its time is up. */
export const UNCERTAIN_COUNT = 1e9

/** A node that was silent for so many heartbeats has left. */
const MISSED_HEARTBEATS = 3

export interface FleetMembershipOptions {
  heartbeat: number
  /** This node, by its own word. */
  self(): FleetNode
  /** Redis knows nothing of this node though it has said that it lives. */
  onForgotten(): void
  /** After each heartbeat. */
  onHeartbeat(): void
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

/** Says that this node lives, and knows who else does. */
export class FleetMembership {
  /** How many live, this one included. While that is not known it is more than one: nobody speaks for all by mistake. */
  liveNodes = ASSUMED_NODES
  private readonly runtime: RuntimeContext
  private readonly redis: RedisConnection
  private readonly options: FleetMembershipOptions
  private isRegistered = false
  /** From when on every node that lives has said so to the Redis that this one speaks with. */
  private certainFrom = Number.POSITIVE_INFINITY
  private wasDisconnected = false
  private timer: unknown = undefined
  private isClosed = false

  constructor(runtime: RuntimeContext, redis: RedisConnection, options: FleetMembershipOptions) {
    this.runtime = runtime
    this.redis = redis
    this.options = options
  }

  start(): void {
    const { heartbeat } = this.options
    // Chance spreads the heartbeats of nodes that start together.
    const beat = () => {
      this.timer = setUnrefTimer(
        this.runtime.clock,
        () => void this.heartbeat().finally(() => this.isClosed || beat()),
        heartbeat * (0.8 + 0.2 * this.runtime.random()),
      )
    }
    beat()
  }

  /** Says that this node lives. */
  async heartbeat(): Promise<void> {
    const { redis, options } = this
    if (redis.isUp) {
      const { id, ...record } = options.self()
      const args = [id, JSON.stringify(record), options.heartbeat * MISSED_HEARTBEATS]
      try {
        const [known, live] = this.read(parseHeartbeat(await redis.run(HEARTBEAT, NODE_KEYS, args)))
        this.liveNodes = live
        const forgotten = this.isRegistered && known === 0
        // After one heartbeat all others have said that they live. Those who lost Redis must find their way back first.
        if (forgotten || this.certainFrom === Number.POSITIVE_INFINITY)
          this.certainFrom =
            this.runtime.clock.now() +
            options.heartbeat +
            (forgotten || this.wasDisconnected ? MAX_RECONNECT_MS : 0)
        this.isRegistered = true
        if (forgotten) options.onForgotten()
        await redis.check()
      } catch {
        // Redis is lost, which is told elsewhere.
      }
    }
    options.onHeartbeat()
  }

  /**
   * How many live by what Redis knows now. Soon after this node met it, or was forgotten by it, others may not have said yet
   * that they live: the count is `UNCERTAIN_COUNT` then. Undefined where Redis is lost.
   */
  async countNodes(): Promise<number | undefined> {
    try {
      const reply = await this.redis.run(COUNT_LIVE, [NODE_KEYS[0]], [this.options.self().id])
      const [live, known] = this.read(parseLive(reply))
      return known === 1 && this.runtime.clock.now() >= this.certainFrom ? live : UNCERTAIN_COUNT
    } catch {
      return this.redis.isUp ? UNCERTAIN_COUNT : undefined
    }
  }

  /** Those of the nodes that live by what Redis knows now. @throws where it is lost */
  async filterLive(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(this.read(parseNodeIds(await this.redis.run(FILTER_LIVE, [NODE_KEYS[0]], nodes))))
  }

  /** The nodes that live; this one alone where Redis is lost. */
  async list(): Promise<FleetNode[]> {
    try {
      const all = (await this.redis.send('HGETALL', NODE_KEYS[1])) as unknown[]
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
  onDisconnected(): void {
    this.liveNodes = ASSUMED_NODES
    this.certainFrom = Number.POSITIVE_INFINITY
    this.wasDisconnected = true
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.runtime.clock.clearTimer(this.timer)
    await this.redis.run(LEAVE, NODE_KEYS, [this.options.self().id]).catch(() => {})
  }
}
