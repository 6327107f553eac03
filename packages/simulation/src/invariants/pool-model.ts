import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker, Pool, PoolEvent } from 'holdfast'
import type { Availability } from '../../../core/src/pool/availability.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import type { AttemptEnd } from '../process/upstreams.js'
import { MEMBERS, type MemberId, POOL, type Scenario } from '../scenario/scenario.js'

/** Openings within this time after a trip need no failures. */
const TRIP_MS = 300_000

/** Results can count a little later than the attempts end. */
const TOLERANCE_MS = 1000

/** A member of the pool of one process, from its addition to its removal. */
interface MemberState {
  readonly id: string
  readonly addedAt: number
  isEnabled: boolean
  /** A time of the clock of the process. */
  cooldownUntil: number
  breakerState: CircuitBreaker['currentState']
  changedAt: number
  trippedAt: number
  /** Failures: when the attempts began and ended, by the clock of the process. */
  failures: { readonly startedAt: number; readonly endedAt: number }[]
  /** Attempts that have ended. */
  endCount: number
  /** Attempts that began while the breaker was half-open and have not ended. */
  readonly probes: Set<PoolAttempt>
}

/** An attempt through a member. */
export interface PoolAttempt {
  readonly process: Process
  readonly member: MemberState | undefined
  readonly startedAt: number
  hasEnded: boolean
}

interface ProcessPool {
  readonly pool: Pool
  readonly members: Map<string, MemberState>
  /** Attempts that have not ended. */
  readonly running: Set<PoolAttempt>
  /** The opening of a breaker in the current event, which needs failures. */
  openings: { member: MemberState; from: MemberState }[]
  /** What is known about the members since an attempt of a removed one ended in the current event. */
  before: string | undefined
  /** Whether an attempt of a present member ended in the current event. */
  hasOtherEnds: boolean
}

/** Everything that the outcome of an attempt can change. */
const describe = (pool: Pool): string =>
  JSON.stringify([
    pool.members().map(({ id }) => pool.stats(id)),
    pool
      .usedBreakers()
      .map(({ id, currentState, epoch, lastFailureTime }) => [id, currentState, epoch, lastFailureTime]),
  ])

/** The private part of a pool that knows which members can be selected. */
const availabilityOf = (pool: Pool): Availability =>
  (pool as unknown as { readonly availability: Availability }).availability

const hasFreeProbe = ({ probePermits = [], settings }: CircuitBreaker, now: number): boolean =>
  probePermits.filter(({ leaseEnd }) => leaseEnd > now).length < settings.halfOpenMax

/** Whether an attempt could use a member. */
function isUsable(pool: Pool, id: string, breaker: CircuitBreaker | undefined, now: number): boolean {
  const status = pool.status(id)
  if (status === 'open') return breaker !== undefined && breaker.openUntil <= now
  if (status === 'half_open') return breaker !== undefined && hasFreeProbe(breaker, now)
  return status === 'available'
}

/**
 * The promises about the pool of each process: an attempt uses a member that exists, is enabled, has no cooldown and whose breaker
 * admits it; every such member can be selected; a rate limit starts a cooldown; the outcome of an attempt counts for its member and
 * changes nothing if the member was removed meanwhile.
 */
export class PoolModel {
  attemptCount = 0
  cooldownCount = 0
  removedCount = 0
  private readonly pools = new Map<Process, ProcessPool>()
  private readonly check: (fn: () => void) => void
  private readonly share: Scenario['poolShare']
  private readonly isRestored: boolean
  /** The last cooldown that began because of a rate limit. */
  private lastCooldown: { readonly process: string; readonly member: string } | undefined
  private changed = new Set<ProcessPool>()

  constructor(
    check: (fn: () => void) => void,
    { poolShare, persists }: Pick<Scenario, 'poolShare' | 'persists'>,
  ) {
    this.check = check
    this.share = poolShare
    this.isRestored = persists
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const pool = runtime.pools.get(POOL)
    const processPool: ProcessPool = {
      pool,
      members: new Map(),
      running: new Set(),
      openings: [],
      before: undefined,
      hasOtherEnds: false,
    }
    this.pools.set(process, processPool)
    const states = new Map(pool.usedBreakers().map(({ id, currentState }) => [id, currentState]))
    for (const { id } of pool.members()) {
      const status = pool.status(id)
      const member = createMember(id, process.clock.now())
      member.isEnabled = status !== 'drained'
      member.breakerState = states.get(`pool:${POOL}:${id}`) ?? 'closed'
      processPool.members.set(id, member)
    }
    pool.on((event) => {
      if (process.isAlive) this.onPoolEvent(process, processPool, event)
    })
  }

  onKilled(process: Process): void {
    this.pools.delete(process)
  }

  private onPoolEvent(process: Process, processPool: ProcessPool, event: PoolEvent): void {
    if (event.type === 'network_changed') return
    const { members } = processPool
    const now = process.clock.now()
    const member = members.get(event.memberId)
    if (event.type === 'breaker_changed') {
      if (member === undefined) return
      const from = { ...member }
      Object.assign(member, { breakerState: event.toState, changedAt: now })
      member.probes.clear()
      if (event.toState === 'open') {
        processPool.openings.push({ member, from })
        this.changed.add(processPool)
      }
      return
    }
    switch (event.change) {
      case 'added':
        members.set(event.memberId, createMember(event.memberId, now))
        return
      case 'removed':
        members.delete(event.memberId)
        return
      case 'drained':
        if (member !== undefined) member.isEnabled = false
        return
      case 'enabled':
        if (member !== undefined) Object.assign(member, { isEnabled: true, cooldownUntil: 0 })
        return
      case 'rested':
        if (member !== undefined)
          member.cooldownUntil = Math.max(member.cooldownUntil, now + (event.retryAfter ?? 0))
    }
  }

  /** The member of the attempt that began last in a process, of those that run; undefined if none runs. */
  runningMember(process: Process): string | undefined {
    return [...(this.pools.get(process)?.running ?? [])].at(-1)?.member?.id
  }

  /** An operator trips the breaker of a member. */
  onTripped(process: Process, id: MemberId): void {
    const member = this.pools.get(process)?.members.get(id)
    if (member !== undefined) member.trippedAt = process.clock.now()
  }

  /** An attempt begins. @throws Violation if its member may not be used */
  onAttemptStarted(process: Process, id: string): PoolAttempt {
    this.attemptCount++
    const now = process.clock.now()
    const member = this.pools.get(process)?.members.get(id)
    const attempt: PoolAttempt = { process, member, startedAt: now, hasEnded: false }
    const fail = (problem: string): never => {
      throw new Violation('members', `${process.name} uses ${id}, which ${problem}`)
    }
    if (member === undefined) return fail('is not in the pool')
    const processPool = this.pools.get(process)
    processPool?.running.add(attempt)
    if (processPool !== undefined) this.checkSelectable(process, processPool.pool)
    if (!member.isEnabled) fail('is drained')
    if (member.cooldownUntil > now) fail(`has a cooldown for ${member.cooldownUntil - now} ms`)
    if (member.breakerState === 'open') fail('has an open breaker')
    if (member.breakerState === 'half_open') {
      member.probes.add(attempt)
      const { halfOpenMax = 1 } = this.settingsOf(process, id) ?? {}
      if (member.probes.size > halfOpenMax) fail(`has ${member.probes.size} probes`)
    }
    return attempt
  }

  /** An attempt has ended, or its signal was aborted, whichever is first: its outcome is recorded in the current event. */
  onAttemptEnded(attempt: PoolAttempt, end: AttemptEnd, limitMs = 0): void {
    const { process, member, startedAt, hasEnded } = attempt
    const processPool = this.pools.get(process)
    if (hasEnded || !process.isAlive || processPool === undefined || member === undefined) return
    attempt.hasEnded = true
    processPool.running.delete(attempt)
    member.probes.delete(attempt)
    this.changed.add(processPool)
    if (processPool.members.get(member.id) !== member) {
      this.removedCount++
      processPool.before ??= describe(processPool.pool)
      return
    }
    const now = process.clock.now()
    processPool.hasOtherEnds = true
    member.endCount++
    if (end === 'failed') member.failures.push({ startedAt, endedAt: now })
    if (end !== 'limited') return
    this.cooldownCount++
    member.cooldownUntil = Math.max(member.cooldownUntil, now + limitMs)
    this.lastCooldown = { process: process.name, member: member.id }
  }

  /** Checks after each event what the attempts that ended in it have changed. */
  onEventEnded(): void {
    if (this.changed.size === 0) return
    const found = this.changed
    this.changed = new Set()
    for (const [process, processPool] of this.pools) {
      if (!found.has(processPool)) continue
      const { before, hasOtherEnds, openings } = processPool
      Object.assign(processPool, { before: undefined, hasOtherEnds: false, openings: [] })
      if (!process.isAlive) continue
      for (const { member, from } of openings) this.check(() => this.checkOpening(process, member, from))
      if (before !== undefined && !hasOtherEnds && describe(processPool.pool) !== before)
        throw new Violation(
          'members',
          `${process.name} counted the outcome of a removed member: ${before} became ${describe(processPool.pool)}`,
        )
    }
  }

  /** A breaker that is not shared opens after enough failures of attempts that began in its current state. */
  private checkOpening(process: Process, member: MemberState, from: MemberState): void {
    const now = process.clock.now()
    const { failures } = member
    member.failures = []
    if (this.share !== 'none' || now - member.trippedAt < TRIP_MS || from.breakerState === 'open') return
    const settings = this.settingsOf(process, member.id)
    // Slow calls open a half-open breaker without a failure.
    if (settings?.windowType !== 'rolling' || settings.slowCallDuration !== undefined) return
    const { failureThreshold, windowDuration } = settings
    // A breaker that was restored begins with the failures that were saved.
    if (this.isRestored && now - member.addedAt <= windowDuration) return
    const isHalfOpen = from.breakerState === 'half_open'
    const since = isHalfOpen ? from.changedAt : Math.max(from.changedAt, now - windowDuration) - TOLERANCE_MS
    const counted = failures.filter(
      ({ startedAt, endedAt }) => startedAt >= from.changedAt && endedAt >= since,
    )
    const expected = isHalfOpen ? 1 : failureThreshold
    if (counted.length < expected)
      throw new Violation(
        'openings',
        `${process.name} opened the breaker of ${member.id} in the state ${from.breakerState} with ${counted.length} failures, expected ${expected}`,
      )
  }

  private settingsOf(process: Process, id: string): CircuitBreaker['settings'] | undefined {
    const breakers = this.pools.get(process)?.pool.usedBreakers() ?? []
    return breakers.find((breaker) => breaker.id === `pool:${POOL}:${id}`)?.settings
  }

  /** Checks that a selection can find each member that an attempt could use. */
  private checkSelectable(process: Process, pool: Pool): void {
    const now = process.clock.now()
    const breakers = new Map(pool.usedBreakers().map((breaker) => [breaker.id, breaker]))
    const usable = pool
      .members()
      .filter(({ id }) => isUsable(pool, id, breakers.get(`pool:${POOL}:${id}`), now))
    const availability = availabilityOf(pool)
    // Evaluates the members whose time has come, as a selection does.
    availability.hasUntriedMember([], now)
    if (availability.availableCount !== usable.length)
      throw new Violation(
        'members',
        `${process.name} can select ${availability.availableCount} members, expected ${usable.map(({ id }) => id).join(', ') || 'none'}`,
      )
  }

  /** Checks that the counters of each member equal its attempts that have ended, and that each usable member can be selected. */
  checkCounters(): void {
    for (const [process, { pool, members }] of this.pools) {
      if (!process.isAlive) continue
      this.checkSelectable(process, pool)
      for (const { id, endCount } of members.values()) {
        const { totalAttempts } = pool.stats(id)
        if (totalAttempts !== endCount)
          throw new Violation(
            'counters',
            `${process.name} counted ${totalAttempts} attempts of ${id}, expected ${endCount}`,
          )
      }
    }
  }

  /** Checks that all nodes know the last cooldown, which a node started some seconds ago. */
  checkCooldownKnown(nodes: readonly SimulatedNode[], by: string): void {
    const { process, member } = this.lastCooldown ?? {}
    if (process === undefined || member === undefined || !process.startsWith(`${by}.`)) return
    for (const { name, runtime } of nodes) {
      if (runtime === undefined || (this.share === 'none' && name !== by)) continue
      const status = runtime.pools.get(POOL).status(member)
      if (status !== 'resting')
        throw new Violation(
          'members',
          `${name} has ${member} ${status}, although ${by} has started its cooldown`,
        )
    }
  }

  /** Checks that all members are available on all nodes. */
  checkAvailable(nodes: readonly SimulatedNode[]): void {
    for (const { name, runtime } of nodes) {
      if (runtime === undefined) continue
      const pool = runtime.pools.get(POOL)
      const ids = new Set(pool.members().map(({ id }) => id))
      for (const id of MEMBERS) {
        const status = ids.has(id) ? pool.status(id) : 'absent'
        if (status !== 'available')
          throw new Violation(
            'members',
            `${id} is ${status} on ${name}, expected it to be available at the end`,
          )
      }
    }
  }
}

const createMember = (id: string, now: number): MemberState => ({
  id,
  addedAt: now,
  isEnabled: true,
  cooldownUntil: 0,
  breakerState: 'closed',
  changedAt: now,
  trippedAt: Number.NEGATIVE_INFINITY,
  failures: [],
  endCount: 0,
  probes: new Set(),
})
