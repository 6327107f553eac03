import { type CircuitBreakerState, SCHEMA } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'
import { type BreakerEvent, type BreakerSnapshot, CircuitBreaker, type Clock } from 'holdfast'
import { BREAKER_DEFAULTS, type BreakerSettings, parseBreakerOptions } from 'holdfast/internal'

/** What a breaker belongs to. */
export interface BreakerOwner {
  policyId?: string
  serviceName?: string
  pool?: string
  member?: string
}

/** The id of an owner's breaker: each part of it is encoded, so that ids can be taken apart again. */
export function breakerId({ policyId, serviceName, pool, member }: BreakerOwner): string {
  if (policyId !== undefined) return `policy:${encodeURIComponent(policyId)}`
  if (serviceName !== undefined) return `service:${encodeURIComponent(serviceName)}`
  return `pool:${encodeURIComponent(pool ?? '')}:${encodeURIComponent(member ?? '')}`
}

interface RegisteredBreaker {
  readonly breaker: CircuitBreaker
  readonly owner: BreakerOwner
  persist: boolean
  /** The errors that count, as they were given. */
  failureOn: BreakerOptions['failureOn']
}

export interface BreakerRegistryOptions {
  clock: Clock
  /** Told of every change of state. */
  onChange(event: BreakerEvent, owner: BreakerOwner, persist: boolean): void
}

/** The breakers of policies and services, each there once, whoever asks for it and however often the file changes. */
export class BreakerRegistry {
  private readonly entries = new Map<string, RegisteredBreaker>()
  private readonly savedSnapshots = new Map<string, BreakerSnapshot>()
  private readonly options: BreakerRegistryOptions
  private readonly createdAt: Date
  /** When breakers opened that are not closed, those of pools included. */
  readonly openedAt = new Map<string, number>()

  constructor(options: BreakerRegistryOptions) {
    this.options = options
    this.createdAt = new Date(options.clock.wall())
  }

  /** Keeps what was saved before, for the breakers that will be asked for. */
  loadSnapshots(snapshots: Iterable<BreakerSnapshot>): void {
    for (const snapshot of snapshots) this.savedSnapshots.set(snapshot.id, snapshot)
  }

  /** What was saved for a breaker that is not here. */
  takeSnapshot(id: string): BreakerSnapshot | undefined {
    const snapshot = this.savedSnapshots.get(id)
    this.savedSnapshots.delete(id)
    return snapshot
  }

  /** The owner's breaker with these options. One that is there keeps its state and takes the options over. */
  getOrCreate(owner: BreakerOwner, options: BreakerOptions, persist: boolean): CircuitBreaker {
    const id = breakerId(owner)
    const settings = this.parseSettings(id, options)
    const existing = this.entries.get(id)
    if (existing !== undefined) {
      if (
        !isSameSettings(existing.breaker.settings, settings) ||
        !sameMatchers(existing.failureOn, options.failureOn)
      )
        existing.breaker.reconfigure(settings)
      existing.failureOn = options.failureOn
      existing.persist = persist
      return existing.breaker
    }
    const saved = persist ? this.takeSnapshot(id) : undefined
    const { clock } = this.options
    const breaker = saved
      ? CircuitBreaker.restore(saved, { ...options, id, clock })
      : new CircuitBreaker({ id }, settings)
    const entry: RegisteredBreaker = { breaker, owner, persist, failureOn: options.failureOn }
    breaker.on((event) => this.options.onChange(event, owner, entry.persist))
    this.entries.set(id, entry)
    return breaker
  }

  get(id: string): CircuitBreaker | undefined {
    return this.entries.get(id)?.breaker
  }

  /** Forgets the breakers that no configuration names any more. */
  removeExcept(ids: ReadonlySet<string>): void {
    for (const id of this.entries.keys()) if (!ids.has(id)) this.entries.delete(id)
  }

  *[Symbol.iterator](): Iterator<{ breaker: CircuitBreaker; owner: BreakerOwner; persist: boolean }> {
    yield* this.entries.values()
  }

  /** Where a breaker stands, as a record. */
  toRecord(breaker: CircuitBreaker, owner: BreakerOwner): CircuitBreakerState {
    return toBreakerRecord(breaker, owner, this.createdAt, this.openedAt)
  }

  private parseSettings(id: string, options: BreakerOptions): BreakerSettings {
    const problems: string[] = []
    const base = { ...BREAKER_DEFAULTS, clock: this.options.clock, id }
    return parseBreakerOptions('', options, base, problems)
  }
}

const SETTING_NAMES = Object.keys(BREAKER_DEFAULTS).filter(
  (key) => key !== 'failureOn' && key !== 'counted',
) as (keyof BreakerSettings)[]

const isSameSettings = (a: BreakerSettings, b: BreakerSettings) =>
  SETTING_NAMES.every((field) => a[field] === b[field])

const sameMatchers = (a: BreakerOptions['failureOn'] = [], b: BreakerOptions['failureOn'] = []) =>
  a.length === b.length && a.every((matcher, i) => matcher === b[i])

const toDate = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms))

/** Where a breaker stands, as a record. One that never changed has been as it is since `since`. */
export function toBreakerRecord(
  breaker: CircuitBreaker,
  owner: BreakerOwner,
  since: Date,
  openedAt: ReadonlyMap<string, number>,
): CircuitBreakerState {
  const { settings } = breaker
  const { policyId, serviceName, member } = owner
  const changed = toDate(breaker.lastStateChange) ?? since
  const record: CircuitBreakerState = {
    schema: SCHEMA,
    id: breaker.id,
    proxyId: member ?? null,
    state: breaker.state,
    failureCount: breaker.failureCount,
    successCount: breaker.probeSuccesses,
    failureThreshold: settings.failureThreshold,
    successThreshold: settings.successThreshold,
    windowType: settings.windowType,
    timeoutDuration: settings.timeoutDuration,
    lastStateChange: changed,
  }
  if (policyId !== undefined) record.policyId = policyId
  if (serviceName !== undefined) record.serviceName = serviceName
  if (settings.windowType !== 'consecutive') record.windowDuration = settings.windowDuration
  const next = toDate(breaker.nextTestTime)
  if (next !== undefined) record.nextTestTime = next
  const failed = toDate(breaker.lastFailureTime)
  if (failed !== undefined) record.lastFailureTime = failed
  if (breaker.state !== 'closed') record.openTimestamp = toDate(openedAt.get(breaker.id)) ?? changed
  return record
}
