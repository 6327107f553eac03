import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import type { SimulatedNode } from '../process/simulated-node.js'
import type { SimulatedRedis } from '../substitutes/index.js'

/** A pool whose members no call uses, so that a node knows the state of a member from the fleet only. */
const POOL = 'members'
const MEMBER_COUNT = 12

/** The operation whose breaker one node sees failing and the other one does not. */
export const QUORUM_OPERATION = 'quorum'
const QUORUM_BREAKER = `service:${QUORUM_OPERATION}`

const breakerOf = (member: string): string => `pool:${POOL}:${member}`

/** The configuration of the breakers that the nodes share. */
export const SHARED_BREAKERS = {
  policies: { [QUORUM_OPERATION]: { maxAttempts: 1, circuitBreaker: QUORUM_OPERATION } },
  circuitBreakers: {
    [QUORUM_OPERATION]: { failureThreshold: 2, timeoutDuration: 2000, share: 'quorum', minimumCalls: 2 },
  },
  pools: {
    [POOL]: {
      circuitBreaker: { share: 'state' },
      members: Array.from({ length: MEMBER_COUNT }, (_, at) => ({
        id: `m${at}`,
        url: `http://m${at}.example`,
      })),
    },
  },
}

/** A node that is connected to Redis knows the ejected members after this time. */
const KNOWN_WITHIN_MS = 6000

/** A node without a heartbeat for three intervals has left. The nodes are checked twice a second. */
const MISSED_HEARTBEATS = 3
const CHECK_TOLERANCE_MS = 600

/** What the model needs of the simulation. */
interface SharedBreakerParts {
  readonly redis: SimulatedRedis
  readonly heartbeatMs: number
  now(): number
  redisNow(): number
  /** The time since the last heartbeat of a node. */
  silentMs(node: string): number
}

/**
 * The promises that a node knows the members that another one has ejected, also while it was not connected, and that one node alone never
 * opens a breaker with a quorum, also when it is the first to reconnect after an outage.
 */
export class SharedBreakers {
  readonly ejected: string[] = []
  /** Whether the node that sees no failures has left the fleet, so that the other one was alone and could open the breaker. */
  wasAlone = false
  private readonly parts: SharedBreakerParts
  /** Since when a node has been connected and has not known an ejected member. */
  private readonly unknownSince = new Map<string, number>()

  constructor(parts: SharedBreakerParts) {
    this.parts = parts
  }

  /** An operator ejects the next member. */
  eject(runtime: Holdfast): void {
    if (this.ejected.length >= MEMBER_COUNT) return
    const member = `m${this.ejected.length}`
    this.ejected.push(member)
    runtime.pools.get(POOL).breaker(member).trip({ duration: Number.POSITIVE_INFINITY })
  }

  check(nodes: readonly SimulatedNode[], healthy: SimulatedNode, isOutage: boolean): void {
    for (const { name, runtime } of nodes) if (runtime !== undefined) this.checkEjected(name, runtime)
    const { silentMs, heartbeatMs } = this.parts
    if (!isOutage && silentMs(healthy.name) > MISSED_HEARTBEATS * heartbeatMs - CHECK_TOLERANCE_MS)
      this.wasAlone = true
    if (!this.wasAlone && this.isOpen(QUORUM_BREAKER))
      throw new Violation(
        'openings',
        `the fleet has opened ${QUORUM_BREAKER}, and ${healthy.name} has seen no failure`,
      )
  }

  /** At the end, Redis knows each ejected member: a node repeats a command of an operator that could not be sent. */
  checkEnd(): void {
    for (const member of this.ejected)
      if (!this.isOpen(breakerOf(member)))
        throw new Violation('converges', `Redis does not know at the end that ${member} was ejected`)
  }

  private checkEjected(name: string, runtime: Holdfast): void {
    const now = this.parts.now()
    for (const member of this.ejected) {
      const key = `${name} ${member}`
      const isUnknown =
        runtime.fleet?.connected === true &&
        runtime.pools.get(POOL).status(member) !== 'open' &&
        this.isOpen(breakerOf(member))
      if (!isUnknown) this.unknownSince.delete(key)
      else if (!this.unknownSince.has(key)) this.unknownSince.set(key, now)
      else if (now - (this.unknownSince.get(key) ?? now) > KNOWN_WITHIN_MS)
        throw new Violation('converges', `${name} does not know that the fleet has ejected ${member}`)
    }
  }

  private isOpen(id: string): boolean {
    const { redis, redisNow } = this.parts
    const { reply } = redis.execute(['HGET', `holdfast:{${id}}:state`, 'state'], redisNow())
    return reply === 'open' || reply === 'half_open'
  }
}
