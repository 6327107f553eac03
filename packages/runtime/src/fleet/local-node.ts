import { readFileSync } from 'node:fs'
import { type FleetNode, MAX_OPINIONS } from '@holdfast/fleet'
import type { Clock } from 'holdfast'
import type { BreakerRegistry } from '../breakers/registry.js'
import type { PoolManager } from '../pools/pool-manager.js'

/** The version of this package, which is found in the nearest package.json. */
function readVersion(): string {
  for (const up of ['../package.json', '../../package.json'])
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8'))
      if (name === '@holdfast/runtime') return version
    } catch {
      // The file is in a folder further up.
    }
  return 'unknown'
}

/** Describes this process as a node, with or without a fleet. */
export class LocalNode {
  readonly id: string
  private readonly clock: Clock
  private readonly registry: BreakerRegistry
  private readonly pools: PoolManager
  private readonly version = readVersion()
  private readonly startedAt: Date

  constructor(id: string, clock: Clock, registry: BreakerRegistry, pools: PoolManager) {
    this.id = id
    this.clock = clock
    this.registry = registry
    this.pools = pools
    this.startedAt = new Date(clock.wall())
  }

  describe(): FleetNode {
    const { id, version, startedAt, clock } = this
    return { id, version, startedAt, lastSeen: new Date(clock.wall()), opinions: this.opinions() }
  }

  /** The breakers of this node that are not closed, shared or not. */
  private opinions(): Record<string, string> {
    const opinions: Record<string, string> = {}
    let count = 0
    for (const { id, currentState } of this.breakers()) {
      if (currentState === 'closed') continue
      opinions[id] = currentState
      if (++count === MAX_OPINIONS) break
    }
    return opinions
  }

  private *breakers() {
    for (const { breaker } of this.registry) yield breaker
    for (const pool of this.pools.list()) yield* pool.usedBreakers()
  }
}
