import type { Clock, Pool } from 'holdfast'
import { END_COOLDOWN, LIST_COOLDOWNS, REST_OF, START_COOLDOWN } from './fleet-scripts.js'
import type { RedisConnection, RedisScript } from './redis-connection.js'
import { type CooldownMessage, parseCooldowns } from './replies.js'

const cooldownKey = (pool: string) => [`holdfast:{pool:${encodeURIComponent(pool)}}:rests`]

export interface RestsOptions {
  readonly node: string
  readonly clock: Clock
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

interface SharedPool {
  readonly pool: Pool
  isShared(member: string): boolean
}

/** The rests of pools' members, over all nodes: a member that asked one of them to be left alone is left alone by all. */
export class MemberCooldowns {
  private readonly pools = new Map<string, SharedPool>()
  /** Rests that nobody could be told of, and when they end. */
  private readonly unsent = new Map<string, { pool: string; member: string; until: number }>()
  private readonly redis: RedisConnection
  private readonly node: string
  private readonly clock: Clock

  private readonly onInvalidReply: (problem: string) => void

  constructor(redis: RedisConnection, { node, clock, onInvalidReply }: RestsOptions) {
    this.redis = redis
    this.node = node
    this.clock = clock
    this.onInvalidReply = onInvalidReply
  }

  /** Shares the rests of these pools, and of no others; `isShared` says for which members. */
  async setPools(pools: readonly Pool[], isShared: (pool: string, member: string) => boolean): Promise<void> {
    const keptPools = new Set(pools)
    for (const { pool } of this.pools.values()) if (!keptPools.has(pool)) this.release(pool)
    const newPools = pools.filter((pool) => this.pools.get(pool.id)?.pool !== pool)
    for (const pool of pools)
      this.pools.set(pool.id, { pool, isShared: (member) => isShared(pool.id, member) })
    for (const pool of newPools)
      pool.setCoordinator({
        onCooldownStarted: (member, ms) => this.sendCooldown(pool.id, member, ms),
        onCooldownEnded: (member) => this.sendCooldownEnd(pool.id, member),
      })
    await Promise.all(newPools.map(({ id }) => this.readPool(id)))
  }

  /** Another node published that a member rests, or rests no more: what Redis holds of it is read and taken over. */
  onMessage({ rest, member, left }: CooldownMessage): void {
    if (this.pools.get(rest)?.isShared(member)) void this.readOne(rest, member, left === 0)
  }

  private async readOne(pool: string, member: string, isEnded: boolean): Promise<void> {
    const [found] = await this.ask(REST_OF, pool, [this.node, pool, member])
    if (found === undefined) return
    const [, left] = found
    if (left > 0) this.take(pool, member, left)
    // One that Redis has not been told of yet goes on.
    else if (isEnded && !this.unsent.has(JSON.stringify([pool, member])))
      this.pools.get(pool)?.pool.endCooldown(member)
  }

  private take(pool: string, member: string, left: number): void {
    const held = this.pools.get(pool)
    if (held?.isShared(member) && left > 0) held.pool.startCooldown(member, left)
  }

  /** Tells what could not be told, and learns what others said meanwhile. */
  async sync(): Promise<void> {
    const now = this.clock.now()
    const untold = [...this.unsent.values()]
    this.unsent.clear()
    for (const { pool, member, until } of untold)
      if (until > now) this.sendCooldown(pool, member, until - now)
    await Promise.all([...this.pools.keys()].map((pool) => this.readPool(pool)))
  }

  close(): void {
    for (const { pool } of this.pools.values()) this.release(pool)
  }

  private release(pool: Pool): void {
    pool.setCoordinator(undefined)
    this.pools.delete(pool.id)
  }

  private sendCooldown(pool: string, member: string, ms: number): void {
    if (!this.pools.get(pool)?.isShared(member)) return
    const until = this.clock.now() + ms
    const key = JSON.stringify([pool, member])
    // Untold until Redis has answered: one that ends meanwhile is not told again when Redis is back.
    const rest = { pool, member, until }
    this.unsent.set(key, rest)
    const onTold = () => {
      if (this.unsent.get(key) === rest) this.unsent.delete(key)
    }
    this.redis
      .run(START_COOLDOWN, cooldownKey(pool), [this.node, pool, member, Math.ceil(ms)])
      .then(onTold, () => {})
  }

  private sendCooldownEnd(pool: string, member: string): void {
    this.unsent.delete(JSON.stringify([pool, member]))
    if (this.pools.get(pool)?.isShared(member))
      this.redis.run(END_COOLDOWN, cooldownKey(pool), [this.node, pool, member]).catch(() => {})
  }

  private async readPool(pool: string): Promise<void> {
    for (const [member, left] of await this.ask(LIST_COOLDOWNS, pool, [])) this.take(pool, member, left)
  }

  private async ask(script: RedisScript, pool: string, args: readonly string[]): Promise<[string, number][]> {
    let reply: unknown
    try {
      reply = await this.redis.run(script, cooldownKey(pool), args)
    } catch {
      return [] // Redis is lost, which is told elsewhere.
    }
    const parsed = parseCooldowns(reply)
    if ('value' in parsed) return parsed.value
    this.onInvalidReply(parsed.problem)
    return []
  }
}
