import type { CircuitBreakerState } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'
import { type BreakerEvent, type BreakerSnapshot, CircuitBreaker, type Clock } from 'holdfast'
import { BREAKER_DEFAULTS, type BreakerSettings, parseBreakerOptions } from 'holdfast/internal'
import { type BreakerOwner, breakerId } from './breaker-id.js'
import { type OpeningDetails, toBreakerRecord } from './breaker-records.js'

interface RegisteredBreaker {
  readonly breaker: CircuitBreaker
  readonly owner: BreakerOwner
  persist: boolean
  /** The errors that count as failures, as the configuration lists them. */
  failureOn: BreakerOptions['failureOn']
}

export interface BreakerRegistryOptions {
  clock: Clock
  /** The state of a breaker changed. */
  onChange(event: BreakerEvent, owner: BreakerOwner, shouldPersist: boolean): void
}

/** The breakers of policies and services. A breaker exists once, and a reload does not replace it. */
export class BreakerRegistry {
  private readonly entries = new Map<string, RegisteredBreaker>()
  private readonly savedSnapshots = new Map<string, BreakerSnapshot>()
  private readonly options: BreakerRegistryOptions
  private readonly createdAt: Date
  /** The opening of each breaker that is not closed. The breakers of pool members are included. */
  readonly openings = new Map<string, OpeningDetails>()

  constructor(options: BreakerRegistryOptions) {
    this.options = options
    this.createdAt = new Date(options.clock.wall())
  }

  /** Keeps the snapshots of an earlier process for the breakers that will be created. */
  loadSnapshots(snapshots: Iterable<BreakerSnapshot>): void {
    for (const snapshot of snapshots) this.savedSnapshots.set(snapshot.id, snapshot)
  }

  /** Removes and returns the snapshot of a breaker that is not in this registry. */
  takeSnapshot(id: string): BreakerSnapshot | undefined {
    const snapshot = this.savedSnapshots.get(id)
    this.savedSnapshots.delete(id)
    return snapshot
  }

  /** Returns the owner's breaker with these options. An existing breaker keeps its state and is reconfigured. */
  getOrCreate(owner: BreakerOwner, options: BreakerOptions, shouldPersist: boolean): CircuitBreaker {
    const id = breakerId(owner)
    const settings = this.parseSettings(id, options)
    const existing = this.entries.get(id)
    if (existing !== undefined) {
      if (
        !isSameSettings(existing.breaker.settings, settings) ||
        !hasSameMatchers(existing.failureOn, options.failureOn)
      )
        existing.breaker.reconfigure(settings)
      existing.failureOn = options.failureOn
      existing.persist = shouldPersist
      return existing.breaker
    }
    const saved = shouldPersist ? this.takeSnapshot(id) : undefined
    const { clock } = this.options
    const breaker = saved
      ? CircuitBreaker.restore(saved, { ...options, id, clock })
      : new CircuitBreaker({ id }, settings)
    const entry: RegisteredBreaker = { breaker, owner, persist: shouldPersist, failureOn: options.failureOn }
    breaker.on((event) => this.options.onChange(event, owner, entry.persist))
    this.entries.set(id, entry)
    return breaker
  }

  get(id: string): CircuitBreaker | undefined {
    return this.entries.get(id)?.breaker
  }

  /** Removes the breakers that the configuration no longer names. */
  removeExcept(ids: ReadonlySet<string>): void {
    for (const id of this.entries.keys())
      if (!ids.has(id)) {
        this.entries.delete(id)
        this.openings.delete(id)
      }
  }

  *[Symbol.iterator](): Iterator<{ breaker: CircuitBreaker; owner: BreakerOwner; persist: boolean }> {
    yield* this.entries.values()
  }

  /** The record of a breaker. */
  toRecord(breaker: CircuitBreaker, owner: BreakerOwner): CircuitBreakerState {
    return toBreakerRecord(breaker, owner, this.createdAt, this.openings)
  }

  private parseSettings(id: string, options: BreakerOptions): BreakerSettings {
    const base = { ...BREAKER_DEFAULTS, clock: this.options.clock, id }
    // The config was checked before, so there are no problems.
    return parseBreakerOptions('', options, base, [])
  }
}

const BREAKER_SETTING_NAMES = Object.keys(BREAKER_DEFAULTS).filter(
  (key) => key !== 'failureOn',
) as (keyof BreakerSettings)[]

const isSameSettings = (a: BreakerSettings, b: BreakerSettings) =>
  BREAKER_SETTING_NAMES.every((field) => a[field] === b[field])

const hasSameMatchers = (a: BreakerOptions['failureOn'] = [], b: BreakerOptions['failureOn'] = []) =>
  a.length === b.length && a.every((matcher, i) => matcher === b[i])
