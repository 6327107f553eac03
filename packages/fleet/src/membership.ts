import type { RuntimeContext } from '@holdfast/config'
import { COUNT_LIVE, FILTER_LIVE, HEARTBEAT, LEAVE } from './lua/scripts.js'
import { MAX_RECONNECT_MS, type RedisConnection } from './redis-connection.js'
import { type Parsed, parseHeartbeat, parseLive, parseNodeIds, parseNodeRecord } from './replies.js'
import { setUnrefTimer } from './unref-timer.js'

/** A process of the fleet, as it last described itself. */
export interface FleetNode {
  /** The id of the node. */
  readonly id: string
  /** The version of `@holdfast/runtime` that it runs. */
  readonly version: string
  /** When the node started. */
  readonly startedAt: Date
  /** Time of its last heartbeat, by its own clock. */
  readonly lastSeen: Date
  /** Its breakers that are not closed, with the state of each; at most 1,000. */
  readonly opinions: Readonly<Record<string, string>>
}

const NODE_KEYS = ['holdfast:{nodes}:live', 'holdfast:{nodes}:records'] as const

/** The number of nodes that is assumed while it is not known. */
export const ASSUMED_NODES = 2

/** An uncertain number of nodes: more than there can be, so that no vote is decided before its round is over. */
export const UNCERTAIN_COUNT = 1e9

/** A node without a heartbeat for this many intervals has left. */
const MISSED_HEARTBEATS = 3

export interface FleetMembershipOptions {
  heartbeat: number
  /** The record of this node. */
  self(): FleetNode
  /** Redis has lost the registration of this node. */
  onForgotten(): void
  /** Called after each heartbeat. */
  onHeartbeat(): void
  /** A reply of Redis was not valid. */
  onInvalidReply(problem: string): void
}

/** Sends heartbeats and knows the live nodes. */
export class FleetMembership {
  /** Number of live nodes, including this one. Above 1 while it is not known, so that this node cannot outvote all others. */
  liveNodes = ASSUMED_NODES
  private readonly runtime: RuntimeContext
  private readonly redis: RedisConnection
  private readonly options: FleetMembershipOptions
  private isRegistered = false
  /** The time from which on every live node has sent a heartbeat to the Redis that this node is connected to. */
  private certainFrom = Number.POSITIVE_INFINITY
  /** How often the connection to Redis was lost. */
  private losses = 0
  private timer: unknown = undefined
  private isClosed = false

  constructor(runtime: RuntimeContext, redis: RedisConnection, options: FleetMembershipOptions) {
    this.runtime = runtime
    this.redis = redis
    this.options = options
  }

  start(): void {
    const { heartbeat } = this.options
    // A random part spreads the heartbeats of nodes that start together.
    const scheduleHeartbeat = () => {
      this.timer = setUnrefTimer(
        this.runtime.clock,
        () => void this.heartbeat().finally(() => this.isClosed || scheduleHeartbeat()),
        heartbeat * (0.8 + 0.2 * this.runtime.random()),
      )
    }
    scheduleHeartbeat()
  }

  /** Registers this node as alive. */
  async heartbeat(): Promise<void> {
    const { redis, options } = this
    if (redis.isUp) {
      const { id, ...record } = options.self()
      const args = [id, JSON.stringify(record), options.heartbeat * MISSED_HEARTBEATS]
      const { losses } = this
      try {
        const [known, live] = this.read(parseHeartbeat(await redis.run(HEARTBEAT, NODE_KEYS, args)))
        // The connection can be lost by the timeout of another command before this reply arrives. The node sends another heartbeat
        // when it is back.
        if (losses === this.losses) this.onReply(known === 1, live)
        await redis.check()
      } catch {
        // Redis is not available, which the connection reports.
      }
    }
    options.onHeartbeat()
  }

  /** Redis has executed a heartbeat, and the connection was not lost since it was sent. */
  private onReply(isKnown: boolean, live: number): void {
    const { options, losses } = this
    this.liveNodes = live
    const isForgotten = this.isRegistered && !isKnown
    // All other nodes send a heartbeat within one interval. Nodes that lost Redis too must reconnect first.
    if (isForgotten || this.certainFrom === Number.POSITIVE_INFINITY)
      this.certainFrom =
        this.runtime.clock.now() + options.heartbeat + (isForgotten || losses > 0 ? MAX_RECONNECT_MS : 0)
    this.isRegistered = true
    if (isForgotten) options.onForgotten()
  }

  /**
   * Reads the number of live nodes. Shortly after this node connected, or Redis lost its data, other nodes may not be registered
   * yet: the number is `UNCERTAIN_COUNT` then. Undefined if Redis is not available.
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

  /** Reads which of the nodes are alive. @throws if Redis is not available */
  async filterLive(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(this.read(parseNodeIds(await this.redis.run(FILTER_LIVE, [NODE_KEYS[0]], nodes))))
  }

  /** The live nodes; only this one if Redis is not available. */
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

  /** Returns the value, or reports the problem. @throws if the reply was not valid */
  private read<T>(parsed: Parsed<T>): T {
    if ('value' in parsed) return parsed.value
    this.options.onInvalidReply(parsed.problem)
    throw new Error(parsed.problem)
  }

  /** The connection to Redis was lost. */
  onDisconnected(): void {
    this.liveNodes = ASSUMED_NODES
    this.certainFrom = Number.POSITIVE_INFINITY
    this.losses++
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.runtime.clock.clearTimer(this.timer)
    await this.redis.run(LEAVE, NODE_KEYS, [this.options.self().id]).catch(() => {})
  }
}
