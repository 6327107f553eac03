import type { Clock, Pool } from 'holdfast'
import {
  END_COOLDOWN,
  LIST_COOLDOWNS,
  READ_COOLDOWN,
  type RedisScript,
  START_COOLDOWN,
} from './lua/scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { type CooldownMessage, parseCooldowns } from './replies.js'

const cooldownKey = (pool: string) => [`holdfast:{pool:${encodeURIComponent(pool)}}:rests`]

export interface MemberCooldownsOptions {
  readonly node: string
  readonly clock: Clock
  /** A reply of Redis was not valid. */
  onInvalidReply(problem: string): void
}

interface SharedPool {
  readonly pool: Pool
  isShared(member: string): boolean
}

/** The cooldowns of pool members, for all nodes: a member that rejects calls of one node is not selected by any. */
export class MemberCooldowns {
  private readonly pools = new Map<string, SharedPool>()
  /** Cooldowns that Redis has not confirmed yet, and when they end. */
  private readonly unsent = new Map<string, { pool: string; member: string; until: number }>()
  private readonly redis: RedisConnection
  private readonly node: string
  private readonly clock: Clock

  private readonly onInvalidReply: (problem: string) => void

  constructor(redis: RedisConnection, { node, clock, onInvalidReply }: MemberCooldownsOptions) {
    this.redis = redis
    this.node = node
    this.clock = clock
    this.onInvalidReply = onInvalidReply
  }

  /** Sets the pools whose cooldowns are shared; `isShared` selects the members. */
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

  /** Another node published that a cooldown began or ended. The cooldown is read from Redis before it is applied. */
  onMessage({ rest, member, left }: CooldownMessage): void {
    if (this.pools.get(rest)?.isShared(member)) void this.readOne(rest, member, left === 0)
  }

  private async readOne(pool: string, member: string, isEnded: boolean): Promise<void> {
    const [found] = await this.runScript(READ_COOLDOWN, pool, [this.node, pool, member])
    if (found === undefined) return
    const [, left] = found
    if (left > 0) this.applyCooldown(pool, member, left)
    // A cooldown that Redis has not confirmed yet continues.
    else if (isEnded && !this.unsent.has(JSON.stringify([pool, member])))
      this.pools.get(pool)?.pool.endCooldown(member)
  }

  private applyCooldown(pool: string, member: string, left: number): void {
    const shared = this.pools.get(pool)
    if (shared?.isShared(member) && left > 0) shared.pool.startCooldown(member, left)
  }

  /** Sends the cooldowns that could not be sent before, and reads those of other nodes. */
  async sync(): Promise<void> {
    const now = this.clock.now()
    const unsent = [...this.unsent.values()]
    this.unsent.clear()
    for (const { pool, member, until } of unsent)
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
    // Unsent until Redis has replied. A cooldown that ends meanwhile is removed, so that it is not sent after a reconnect.
    const cooldown = { pool, member, until }
    this.unsent.set(key, cooldown)
    const onSent = () => {
      if (this.unsent.get(key) === cooldown) this.unsent.delete(key)
    }
    this.redis
      .run(START_COOLDOWN, cooldownKey(pool), [this.node, pool, member, Math.ceil(ms)])
      .then(onSent, () => {})
  }

  private sendCooldownEnd(pool: string, member: string): void {
    this.unsent.delete(JSON.stringify([pool, member]))
    if (this.pools.get(pool)?.isShared(member))
      this.redis.run(END_COOLDOWN, cooldownKey(pool), [this.node, pool, member]).catch(() => {})
  }

  private async readPool(pool: string): Promise<void> {
    for (const [member, left] of await this.runScript(LIST_COOLDOWNS, pool, []))
      this.applyCooldown(pool, member, left)
  }

  private async runScript(
    script: RedisScript,
    pool: string,
    args: readonly string[],
  ): Promise<[string, number][]> {
    let reply: unknown
    try {
      reply = await this.redis.run(script, cooldownKey(pool), args)
    } catch {
      return [] // Redis is not available, which the connection reports.
    }
    const parsed = parseCooldowns(reply)
    if ('value' in parsed) return parsed.value
    this.onInvalidReply(parsed.problem)
    return []
  }
}
