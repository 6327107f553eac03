import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker, Pool } from 'holdfast'
import type { FleetBreaker } from '../../../fleet/src/fleet-breaker.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { SHARED_OPERATIONS } from '../scenario/drill.js'
import { type Fault, MEMBERS, POOL, type Scenario } from '../scenario/scenario.js'
import type { SimulatedRedis } from '../substitutes/index.js'

/** How often the nodes are compared with Redis. */
export const FLEET_CHECK_INTERVAL_MS = 2000

/** Within this time a node that reaches Redis has the state of a shared breaker that Redis has, and Redis that of the node. */
const KNOWN_WITHIN_MS = 6000

/** After a failure of Redis or of the network to it, nodes have this time to reconnect and to synchronize. */
const RECOVERED_WITHIN_MS = 45_000

/** The clocks of nodes drift by up to 0.1 %, and leases have whole milliseconds. */
const CLOCK_ERROR = 0.003
const LEASE_TOLERANCE_MS = 3

/** A permit of the fleet that waits for a caller. */
interface Lease {
  readonly token: string
  readonly ends: number
}

/** The connection of a breaker to the fleet, with its private parts. */
type Link = Omit<FleetBreaker, 'probes'> & { readonly probes: { readonly lease?: Lease } }

const linkOf = ({ coordinator }: CircuitBreaker): Link | undefined =>
  coordinator as unknown as Link | undefined

/** One breaker of one process. */
interface WatchedBreaker {
  readonly breaker: CircuitBreaker
  /** Since when each difference from Redis exists. */
  readonly since: Map<string, number>
  /** The end of the last lease that was checked. */
  leaseEnd: number
}

/** The state of a breaker in Redis. */
interface StoredState {
  readonly epoch: number
  readonly state: string
  readonly leases: ReadonlyMap<string, number>
}

/** The fields of leases in Redis begin with this. */
const LEASE_PREFIX = 'lease:'

/** What the fleet model needs of the simulation. */
export interface FleetModelParts {
  readonly redis: Pick<SimulatedRedis, 'execute' | 'faults'>
  /** The time of Redis. */
  redisNow(): number
  now(): number
}

/**
 * The promises about a fleet, with the data of Redis as the truth: while a node reaches Redis, a change of a shared breaker is known to
 * Redis and to the node within a few seconds, a node never knows a later epoch than Redis, and no node counts on a permit for longer than
 * Redis does.
 */
export class FleetModel {
  private readonly parts: FleetModelParts
  private readonly faults: readonly Fault[]
  /** The faults about the connection of each node to Redis. */
  private readonly faultsByNode = new Map<number, readonly Fault[]>()
  private readonly share: Scenario['poolShare']
  private readonly watched = new WeakMap<Process, Map<string, WatchedBreaker>>()
  /** Members that a process has added or removed: their breakers are new, and have no state of the fleet. */
  private readonly changedMembers = new WeakMap<Process, Set<string>>()
  /** Since when the fleet has ejected a member whose breaker a process does not have. */
  private readonly ejectedSince = new WeakMap<Process, Map<string, number>>()
  /** Since when each process is connected without an interruption. */
  private readonly connectedSince = new WeakMap<Process, number>()

  constructor(parts: FleetModelParts, { faults, poolShare }: Pick<Scenario, 'faults' | 'poolShare'>) {
    this.parts = parts
    this.faults = faults
    this.share = poolShare
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const breakers = new Map<string, WatchedBreaker>()
    for (const operation of SHARED_OPERATIONS) {
      const { breaker } = runtime.guard(operation)
      if (breaker !== undefined) breakers.set(breaker.id, watch(breaker))
    }
    this.watched.set(process, breakers)
    const changed = new Set<string>()
    this.changedMembers.set(process, changed)
    runtime.pools.get(POOL).on((event) => {
      if (event.type === 'member_changed' && (event.change === 'added' || event.change === 'removed'))
        changed.add(event.memberId)
    })
  }

  /** Checks the leases of permits, which is cheap enough for every event. */
  checkLeases(nodes: readonly SimulatedNode[]): void {
    for (const { process } of nodes) {
      const breakers = process && this.watched.get(process)
      if (process === undefined || breakers === undefined) continue
      for (const watched of breakers.values()) {
        const lease = linkOf(watched.breaker)?.probes.lease
        if (lease === undefined || lease.ends === watched.leaseEnd) continue
        watched.leaseEnd = lease.ends
        this.checkLease(process, watched.breaker, lease)
      }
    }
  }

  private checkLease({ name, clock }: Process, { id }: CircuitBreaker, { token, ends }: Lease): void {
    const storedEnd = this.read(id)?.leases.get(token)
    // Redis has changed the state, or has lost it.
    if (storedEnd === undefined) return
    const left = ends - clock.now()
    const storedLeft = storedEnd - this.parts.redisNow()
    if (left > storedLeft + LEASE_TOLERANCE_MS + CLOCK_ERROR * Math.abs(storedLeft))
      throw new Violation(
        'probes',
        `${name} counts on its permit ${token} of ${id} for ${left} ms, and Redis ends the lease in ${storedLeft} ms`,
      )
  }

  /** Compares the nodes that reach Redis with its data. */
  check(nodes: readonly SimulatedNode[]): void {
    if (this.parts.redis.faults.size > 0) return
    const stored = new Map<string, StoredState | undefined>()
    const read = (id: string) => {
      if (!stored.has(id)) stored.set(id, this.read(id))
      return stored.get(id)
    }
    for (const [at, { process, runtime }] of nodes.entries()) {
      if (process === undefined || runtime === undefined) continue
      const breakers = this.watched.get(process)
      if (breakers === undefined || !this.isRecovered(at, process, runtime)) {
        for (const { since } of breakers?.values() ?? []) since.clear()
        this.ejectedSince.delete(process)
        continue
      }
      this.watchMembers(process, runtime, breakers)
      for (const [id, watched] of breakers) {
        const state = read(id)
        if (state !== undefined) this.compare(process.name, id, watched, state)
      }
    }
  }

  /** Breakers of members are created when they are needed. */
  private watchMembers(process: Process, runtime: Holdfast, breakers: Map<string, WatchedBreaker>): void {
    if (this.share !== 'state') return
    const pool = runtime.pools.get(POOL)
    const used = new Map(pool.usedBreakers().map((breaker) => [breaker.id, breaker]))
    const changed = this.changedMembers.get(process)
    const ejections = this.ejectedSince.get(process) ?? new Map<string, number>()
    this.ejectedSince.set(process, ejections)
    for (const member of MEMBERS) {
      const id = `pool:${POOL}:${member}`
      const breaker = used.get(id)
      if (breaker === undefined || changed?.has(member)) breakers.delete(id)
      else if (breakers.get(id)?.breaker !== breaker) breakers.set(id, watch(breaker))
      if (breaker === undefined && !changed?.has(member)) this.checkEjected(process, pool, member, ejections)
    }
  }

  /** A node that has no breaker of a member creates it when the fleet ejects the member. */
  private checkEjected(process: Process, pool: Pool, member: string, since: Map<string, number>): void {
    const isEjected =
      this.read(`pool:${POOL}:${member}`)?.state === 'open' && pool.members().some(({ id }) => id === member)
    const now = this.parts.now()
    const began = isEjected ? (since.get(member) ?? now) : now
    since.set(member, began)
    if (now - began > KNOWN_WITHIN_MS)
      throw new Violation('converges', `${process.name} does not know that the fleet has ejected ${member}`)
  }

  private compare(
    process: string,
    id: string,
    { breaker, since }: WatchedBreaker,
    stored: StoredState,
  ): void {
    const link = linkOf(breaker)
    const isStoredOpen = stored.state !== 'closed'
    const { currentState } = breaker
    // A breaker that is shared by a quorum can be open on one node only.
    const isQuorum = link?.options.share === 'quorum'
    const { isFleetOpen = false, epoch = 0 } = link ?? {}
    const isKnown = isFleetOpen === isStoredOpen
    const isEpochKnown = link === undefined || stored.state === 'half_open' || epoch === stored.epoch
    const isReported =
      isQuorum || isFleetOpen || isStoredOpen || link === undefined || currentState !== 'open'
    const isClosedTogether = currentState !== 'closed' || !isStoredOpen
    const report = (difference: string, isRight: boolean) => {
      if (isRight) {
        since.delete(difference)
        return
      }
      const now = this.parts.now()
      const began = since.get(difference) ?? now
      since.set(difference, began)
      if (now - began > KNOWN_WITHIN_MS)
        throw new Violation(
          'converges',
          `${process} ${difference}, for more than ${KNOWN_WITHIN_MS} ms: it has ${id} ${currentState} in epoch ${epoch}, and Redis has it ${stored.state} in epoch ${stored.epoch}`,
        )
    }
    report('does not know the state of a breaker in Redis', isKnown)
    report('knows another epoch of a breaker than Redis', isEpochKnown)
    report('knows a later epoch of a breaker than Redis', epoch <= stored.epoch)
    report('has opened a breaker and not reported it to Redis', isReported)
    report('has closed a breaker that is not closed in Redis', isClosedTogether)
  }

  /** Whether a node has been connected for some time, and neither Redis nor its network has had a fault. */
  private isRecovered(node: number, process: Process, runtime: Holdfast): boolean {
    const now = this.parts.now()
    if (runtime.fleet?.connected !== true) {
      this.connectedSince.delete(process)
      return false
    }
    const since = this.connectedSince.get(process) ?? now
    this.connectedSince.set(process, since)
    return (
      now - since > RECOVERED_WITHIN_MS &&
      !this.faultsOf(node).some(
        (fault) => fault.at <= now && now < fault.at + ('ms' in fault ? fault.ms : 0) + RECOVERED_WITHIN_MS,
      )
    )
  }

  private faultsOf(node: number): readonly Fault[] {
    const known = this.faultsByNode.get(node)
    if (known !== undefined) return known
    const found = this.faults.filter((fault) => isAboutRedis(fault, node))
    this.faultsByNode.set(node, found)
    return found
  }

  /** The state of a breaker in Redis; undefined if it has none. */
  private read(id: string): StoredState | undefined {
    const { redis, redisNow } = this.parts
    const { reply } = redis.execute(['HGETALL', `holdfast:{${id}}:state`], redisNow())
    if (!Array.isArray(reply) || reply.length === 0) return undefined
    let [epoch, state] = [0, 'closed']
    const leases = new Map<string, number>()
    for (let i = 0; i < reply.length; i += 2) {
      const [name, value] = [String(reply[i]), reply[i + 1]]
      if (name === 'epoch') epoch = Number(value)
      else if (name === 'state') state = String(value)
      else if (name.startsWith(LEASE_PREFIX)) leases.set(name.slice(LEASE_PREFIX.length), Number(value))
    }
    return { epoch, state, leases }
  }
}

const watch = (breaker: CircuitBreaker): WatchedBreaker => ({
  breaker,
  since: new Map(),
  leaseEnd: Number.NaN,
})

/** Whether a fault concerns the connection of a node to Redis. */
const isAboutRedis = (fault: Fault, node: number): boolean => {
  if (fault.kind === 'redis_fault') return true
  if (!('server' in fault) || fault.server !== 'redis') return false
  return !('node' in fault) || fault.node === node
}
