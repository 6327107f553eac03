import type { Config } from '@holdfast/config'
import {
  FleetCoordinator,
  type FleetEvent,
  type FleetNode,
  type FleetStatus,
  HEARTBEAT_MS,
  type RedisDriver,
  type ShareOptions,
  setUnrefTimer,
} from '@holdfast/fleet'
import { errorMessageOf } from '@holdfast/records'
import type { CircuitBreaker, Pool, RetryBudget, RetryBudgetOptions } from 'holdfast'
import { parseBreakerId } from '../breakers/breaker-id.js'
import type { BreakerRegistry } from '../breakers/registry.js'
import type { StoreBackedContext } from '../context/store-backed-context.js'
import type { PoolManager } from '../pools/pool-manager.js'
import type { LocalNode } from './local-node.js'
import { memberShareOptions, toShareOptions } from './share-options.js'

/** Events that each node emits about itself, and that other nodes do not repeat. */
const NODE_EVENTS = new Set(['node_joined', 'node_left', 'shared_state_lost', 'shared_state_restored'])

export interface FleetParts {
  runtime: StoreBackedContext
  registry: BreakerRegistry
  pools: PoolManager
  localNode: LocalNode
  config(): Config
  /** How Redis is reached. @defaultValue ioredis */
  driver?: RedisDriver | undefined
  /** The absolute path of a file that the configuration names. */
  resolvePath(path: string): string
  /** Reads and applies the changes that were made through the API. */
  readLayer(): Promise<void>
}

/** The membership of this process in a fleet: it shares breakers and budgets, and receives the events of other nodes. */
export class Fleet {
  private readonly parts: FleetParts
  private readonly coordinator: FleetCoordinator
  private readonly unsubscribe: () => void
  /** The breakers whose state is being exchanged with the fleet. */
  private attachments: Promise<unknown> = Promise.resolve()
  private layerRead: Promise<void> = Promise.resolve()
  private isReadingQueued = false

  private constructor(parts: FleetParts, shared: FleetCoordinator) {
    this.parts = parts
    this.coordinator = shared
    const { runtime } = parts
    this.unsubscribe = runtime.bus.on('*', (event) => {
      if (!NODE_EVENTS.has(event.eventType)) shared.publish(event)
      const { layer, fleet } = event.context ?? {}
      if (event.eventType === 'config_reloaded' && layer === 'api' && fleet !== true)
        shared.publishLayerChange()
    })
  }

  /** Joins the fleet that the configuration names; returns undefined if it names none. @throws INVALID_OPTIONS */
  static async join(parts: FleetParts): Promise<Fleet | undefined> {
    const { runtime, config, localNode } = parts
    const { shared: url, node = {} } = config()
    if (!url) return undefined
    let fleet: Fleet | undefined
    const coordinator = await FleetCoordinator.open(url, runtime, {
      node: localNode.id,
      heartbeat: node.heartbeat,
      self: () => localNode.describe(),
      driver: parts.driver,
      resolvePath: parts.resolvePath,
      findBreaker: (id) => fleet?.findMemberBreaker(id),
      onOpenSince: (id, at) =>
        void parts.registry.openings.set(id, { ...parts.registry.openings.get(id), at }),
      onLayerChanged: (from) => fleet?.readLayer(from),
    })
    fleet = new Fleet(parts, coordinator)
    // An ejection shortly before the join may not be listed yet, so the list is read once more. Later ejections arrive as
    // messages.
    setUnrefTimer(
      runtime.clock,
      () => void coordinator.ejected.refresh(),
      2 * (node.heartbeat ?? HEARTBEAT_MS),
    )
    return fleet
  }

  /** The id of this node. */
  get node(): string {
    return this.parts.localNode.id
  }

  /** Whether Redis is connected. */
  get connected(): boolean {
    return this.status().up
  }

  /** How many commands were sent to Redis. */
  get commands(): number {
    return this.status().commands
  }

  /** The status of this node in the fleet. */
  status(): FleetStatus {
    return this.coordinator.status()
  }

  /** The live nodes, sorted by id; only this node while Redis is unavailable. */
  nodes(): Promise<FleetNode[]> {
    return this.coordinator.nodes()
  }

  /** The events of all nodes, oldest first; `after` is the position of the last event that was read. */
  events(asked?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.coordinator.events(asked)
  }

  /** Creates a retry budget that the whole fleet shares. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): RetryBudget {
    return this.coordinator.budget(id, options)
  }

  /** Resolves when every breaker has the state of the fleet, or Redis is unavailable. */
  async settled(): Promise<void> {
    await this.attachments
  }

  /** Shares exactly the breakers that the configuration names. */
  apply(): void {
    const { registry, pools } = this.parts
    const { circuitBreakers = {} } = this.parts.config()
    const work: Promise<void>[] = []
    for (const id of this.coordinator.attachedIds())
      if (registry.get(id) === undefined && this.findMemberBreaker(id) === undefined)
        this.coordinator.detach(id)
    for (const { breaker, owner } of registry) {
      const { serviceName } = owner
      const entry = serviceName === undefined ? undefined : circuitBreakers[serviceName]
      work.push(this.coordinator.attach(breaker, toShareOptions(entry)))
    }
    for (const pool of pools.list())
      for (const { id } of pool.members()) {
        const options = this.memberShareOptions(pool.id, id)
        // Only breakers with shared counts must take part from the first failure on.
        if (options.share === 'counts') work.push(this.coordinator.attach(pool.breaker(id), options))
      }
    const rests = this.coordinator.cooldowns.setPools(
      pools.list() as Pool[],
      (pool, member) => this.memberShareOptions(pool, member).share !== 'none',
    )
    const aside = this.coordinator.ejected.setPools(pools.list().map(({ id }) => id))
    this.attachments = Promise.all([...work, rests, aside])
  }

  /** A member's breaker opened by the failures of this node, and is shared from now on. */
  memberOpened(pool: string, member: string, breaker: CircuitBreaker): void {
    if (breaker.coordinator !== undefined) return
    const options = this.memberShareOptions(pool, member)
    // The sync reports the opening, which the fleet does not know yet.
    void this.coordinator.attach(breaker, options)
  }

  /** Leaves the fleet. */
  async close(): Promise<void> {
    this.unsubscribe()
    await this.coordinator.close()
  }

  private readLayer(node: string): void {
    const { runtime, readLayer } = this.parts
    // A read that has not started yet serves all earlier messages.
    if (this.isReadingQueued) return
    this.isReadingQueued = true
    this.layerRead = this.layerRead.then(async () => {
      this.isReadingQueued = false
      try {
        await readLayer()
        runtime.emit({
          eventType: 'config_reloaded',
          component: 'config',
          context: { layer: 'api', fleet: true, node },
        })
      } catch (error) {
        runtime.warn(`changes that ${node} made could not be read: ${errorMessageOf(error)}`)
      }
    })
  }

  private memberShareOptions(pool: string, member: string): ShareOptions {
    const entry = this.parts.config().pools?.[pool]
    return entry === undefined ? toShareOptions(undefined) : memberShareOptions(entry, member)
  }

  /** Finds the breaker of a pool member by its id. */
  private findMemberBreaker(
    id: string,
  ): { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined {
    const { pool: poolId, member } = parseBreakerId(id)
    const { pools } = this.parts
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool = pools.get(poolId)
    try {
      const calls = pool.stats(member).totalAttempts
      return { breaker: pool.breaker(member), options: this.memberShareOptions(poolId, member), calls }
    } catch {
      return undefined // The pool has no such member.
    }
  }
}
