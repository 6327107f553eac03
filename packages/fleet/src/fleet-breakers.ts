import type { CircuitBreaker, Clock } from 'holdfast'
import { FleetBreaker, type FleetBreakerParts } from './fleet-breaker.js'
import { type ShareOptions, serializeSettings } from './shared-settings.js'

/** How many breakers are synchronized with the fleet at a time. */
const MAX_CONCURRENT_SYNCS = 200

/** Breakers that are not closed are synchronized once in this many heartbeats. */
const SYNC_EVERY_HEARTBEATS = 15

/** Finds a breaker that another node reports and that is not attached yet: that of a pool member, which is created on demand. */
export type FindBreaker = (
  id: string,
) => { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined

/** The breakers that a node shares with its fleet. */
export class FleetBreakers {
  private readonly byId = new Map<string, FleetBreaker>()
  private readonly clock: Clock
  private readonly parts: FleetBreakerParts
  private readonly findBreaker: FindBreaker | undefined
  private heartbeats = 0
  /** Number of breakers that are being synchronized, and those that wait for it. */
  private syncing = 0
  private readonly syncQueue: (() => void)[] = []

  constructor(clock: Clock, parts: FleetBreakerParts, findBreaker: FindBreaker | undefined) {
    this.clock = clock
    this.parts = parts
    this.findBreaker = findBreaker
  }

  get(id: string): FleetBreaker | undefined {
    return this.byId.get(id)
  }

  values(): Iterable<FleetBreaker> {
    return this.byId.values()
  }

  /** The ids of the breakers that are shared. */
  ids(): string[] {
    return [...this.byId.keys()]
  }

  /** Shares a breaker; resolves when it has the state of the fleet. Another call replaces the options. */
  async attach(breaker: CircuitBreaker, options: ShareOptions, calls = 0): Promise<void> {
    const existing = this.byId.get(breaker.id)
    const settings = serializeSettings(breaker, options)
    if (existing?.breaker === breaker && existing.settings === settings) return
    this.detach(breaker.id)
    if (options.share === 'none') return
    const totalCalls = existing?.recentCalls.totalCalls ?? calls
    const breakerLink = new FleetBreaker(breaker, options, this.parts, totalCalls)
    this.byId.set(breaker.id, breakerLink)
    breaker.coordinator = breakerLink
    await this.sync(breakerLink)
  }

  /** Stops sharing a breaker. */
  detach(id: string): void {
    this.byId.get(id)?.close()
    this.byId.delete(id)
  }

  /** A shared breaker; one that is not attached yet is attached. */
  getOrAttach(id: string): FleetBreaker | undefined {
    const known = this.byId.get(id)
    if (known !== undefined) return known
    void this.findAndAttach(id)
    return this.byId.get(id)
  }

  /** Shares a breaker that is not attached yet; resolves when it has the state of the fleet. */
  async findAndAttach(id: string): Promise<FleetBreaker | undefined> {
    const found = this.findBreaker?.(id)
    if (found !== undefined && found.options.share !== 'none')
      await this.attach(found.breaker, found.options, found.calls)
    return this.byId.get(id)
  }

  onHeartbeat(): void {
    const now = this.clock.now()
    for (const breakerLink of this.byId.values()) {
      breakerLink.recentCalls.rotate(now, breakerLink.breaker.settings.windowDuration)
      breakerLink.repeatPoll()
    }
    if (++this.heartbeats % SYNC_EVERY_HEARTBEATS !== 0) return
    for (const breakerLink of this.byId.values())
      if (breakerLink.isFleetOpen || breakerLink.breaker.isDisabled) void this.sync(breakerLink)
  }

  syncAll(): void {
    for (const breakerLink of this.byId.values()) void this.sync(breakerLink)
  }

  /**
   * Synchronizes a breaker after those before it, so that many of them at once do not make commands time out. Returns whether this
   * node knows the state of the fleet then.
   */
  async sync(breakerLink: FleetBreaker): Promise<boolean> {
    if (this.syncing >= MAX_CONCURRENT_SYNCS)
      await new Promise<void>((resolve) => this.syncQueue.push(resolve))
    this.syncing++
    try {
      return await breakerLink.sync()
    } finally {
      this.syncing--
      this.syncQueue.shift()?.()
    }
  }
}
