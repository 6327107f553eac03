import type { Clock, Pool } from 'holdfast'
import { REST, RESTS, ROUSE } from './fleet-scripts.js'
import type { Wire } from './wire.js'

/** A member of a pool rests for so many milliseconds; 0 where its rest was ended by hand. */
export interface RestNews {
  readonly rest: string
  readonly member: string
  readonly left: number
  readonly node: string
}

const keyOf = (pool: string) => [`holdfast:{pool:${encodeURIComponent(pool)}}:rests`]

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

  constructor(wire: Wire, node: string, clock: Clock) {
    this.wire = wire
    this.node = node
    this.clock = clock
  }

  /** Shares the rests of these pools, and of no others; `shares` says for which members. */
  async keep(pools: readonly Pool[], shares: (pool: string, member: string) => boolean): Promise<void> {
    const kept = new Set(pools)
    for (const { pool } of this.held.values()) if (!kept.has(pool)) this.release(pool)
    const fresh = pools.filter((pool) => this.held.get(pool.id)?.pool !== pool)
    for (const pool of pools) this.held.set(pool.id, { pool, shares: (member) => shares(pool.id, member) })
    for (const pool of fresh)
      pool.connect({
        rested: (member, ms) => this.rested(pool.id, member, ms),
        roused: (member) => this.roused(pool.id, member),
      })
    await Promise.all(fresh.map(({ id }) => this.read(id)))
  }

  /** Takes over what another node says. */
  heard({ rest, member, left }: RestNews): void {
    const held = this.held.get(rest)
    if (held === undefined || !held.shares(member)) return
    if (left > 0) held.pool.rest(member, left)
    else held.pool.rouse(member)
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
    pool.connect(undefined)
    this.held.delete(pool.id)
  }

  private rested(pool: string, member: string, ms: number): void {
    if (!this.held.get(pool)?.shares(member)) return
    const until = this.clock.now() + ms
    const key = JSON.stringify([pool, member])
    this.wire.run(REST, keyOf(pool), [this.node, pool, member, Math.ceil(ms)]).catch(() => {
      this.untold.set(key, { pool, member, until })
    })
  }

  private roused(pool: string, member: string): void {
    this.untold.delete(JSON.stringify([pool, member]))
    if (this.held.get(pool)?.shares(member))
      this.wire.run(ROUSE, keyOf(pool), [this.node, pool, member]).catch(() => {})
  }

  private async read(pool: string): Promise<void> {
    try {
      const pairs = (await this.wire.run(RESTS, keyOf(pool), [])) as [string, number][]
      for (const [member, left] of pairs) this.heard({ rest: pool, member, left, node: '' })
    } catch {
      // Redis is lost, which is told elsewhere.
    }
  }
}
