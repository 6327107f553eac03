import type { Clock, Pool } from 'holdfast'
import { REST, REST_OF, RESTS, ROUSE } from './fleet-scripts.js'
import { parseRests, type RestNews } from './replies.js'
import type { Script, Wire } from './wire.js'

const keyOf = (pool: string) => [`holdfast:{pool:${encodeURIComponent(pool)}}:rests`]

export interface RestsOptions {
  readonly node: string
  readonly clock: Clock
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

interface Held {
  readonly pool: Pool
  shares(member: string): boolean
}

/** The rests of pools' members, over all nodes: a member that asked one of them to be left alone is left alone by all. */
export class Rests {
  private readonly held = new Map<string, Held>()
  /** Rests that nobody could be told of, and when they end. */
  private readonly untold = new Map<string, { pool: string; member: string; until: number }>()
  private readonly wire: Wire
  private readonly node: string
  private readonly clock: Clock

  private readonly onInvalidReply: (problem: string) => void

  constructor(wire: Wire, { node, clock, onInvalidReply }: RestsOptions) {
    this.wire = wire
    this.node = node
    this.clock = clock
    this.onInvalidReply = onInvalidReply
  }

  /** Shares the rests of these pools, and of no others; `shares` says for which members. */
  async keep(pools: readonly Pool[], shares: (pool: string, member: string) => boolean): Promise<void> {
    const kept = new Set(pools)
    for (const { pool } of this.held.values()) if (!kept.has(pool)) this.release(pool)
    const fresh = pools.filter((pool) => this.held.get(pool.id)?.pool !== pool)
    for (const pool of pools) this.held.set(pool.id, { pool, shares: (member) => shares(pool.id, member) })
    for (const pool of fresh)
      pool.setCoordinator({
        onCooldownStarted: (member, ms) => this.rested(pool.id, member, ms),
        onCooldownEnded: (member) => this.roused(pool.id, member),
      })
    await Promise.all(fresh.map(({ id }) => this.read(id)))
  }

  /** Another node published that a member rests, or rests no more: what Redis holds of it is read and taken over. */
  heard({ rest, member, left }: RestNews): void {
    if (this.held.get(rest)?.shares(member)) void this.readOne(rest, member, left === 0)
  }

  private async readOne(pool: string, member: string, isEnded: boolean): Promise<void> {
    const [found] = await this.ask(REST_OF, pool, [this.node, pool, member])
    if (found === undefined) return
    const [, left] = found
    if (left > 0) this.take(pool, member, left)
    // One that Redis has not been told of yet goes on.
    else if (isEnded && !this.untold.has(JSON.stringify([pool, member])))
      this.held.get(pool)?.pool.endCooldown(member)
  }

  private take(pool: string, member: string, left: number): void {
    const held = this.held.get(pool)
    if (held?.shares(member) && left > 0) held.pool.startCooldown(member, left)
  }

  /** Tells what could not be told, and learns what others said meanwhile. */
  async compare(): Promise<void> {
    const now = this.clock.now()
    const untold = [...this.untold.values()]
    this.untold.clear()
    for (const { pool, member, until } of untold) if (until > now) this.rested(pool, member, until - now)
    await Promise.all([...this.held.keys()].map((pool) => this.read(pool)))
  }

  close(): void {
    for (const { pool } of this.held.values()) this.release(pool)
  }

  private release(pool: Pool): void {
    pool.setCoordinator(undefined)
    this.held.delete(pool.id)
  }

  private rested(pool: string, member: string, ms: number): void {
    if (!this.held.get(pool)?.shares(member)) return
    const until = this.clock.now() + ms
    const key = JSON.stringify([pool, member])
    // Untold until Redis has answered: one that ends meanwhile is not told again when Redis is back.
    const rest = { pool, member, until }
    this.untold.set(key, rest)
    const onTold = () => {
      if (this.untold.get(key) === rest) this.untold.delete(key)
    }
    this.wire.run(REST, keyOf(pool), [this.node, pool, member, Math.ceil(ms)]).then(onTold, () => {})
  }

  private roused(pool: string, member: string): void {
    this.untold.delete(JSON.stringify([pool, member]))
    if (this.held.get(pool)?.shares(member))
      this.wire.run(ROUSE, keyOf(pool), [this.node, pool, member]).catch(() => {})
  }

  private async read(pool: string): Promise<void> {
    for (const [member, left] of await this.ask(RESTS, pool, [])) this.take(pool, member, left)
  }

  private async ask(script: Script, pool: string, args: readonly string[]): Promise<[string, number][]> {
    let reply: unknown
    try {
      reply = await this.wire.run(script, keyOf(pool), args)
    } catch {
      return [] // Redis is lost, which is told elsewhere.
    }
    const parsed = parseRests(reply)
    if ('value' in parsed) return parsed.value
    this.onInvalidReply(parsed.problem)
    return []
  }
}
