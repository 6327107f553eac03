import { type HoldfastError, refusal } from '../errors.js'
import { INSPECT, type Inspect, showAs } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { followNews, longestOpen, takeSettings } from './change.js'
import type { BreakerLink, BreakerNews } from './link.js'
import { BREAKER_DEFAULTS, type BreakerSettings, type CircuitBreakerOptions, settingsOf } from './options.js'
import { type Pass, type Permit, Ticket, type Verdict } from './permit.js'
import { leaseOf, mayTest } from './probe.js'
import { patience, remember } from './reliability.js'
import { type BreakerSnapshot, readSnapshot, restoreInto, snapshotOf } from './snapshot.js'
import type { BreakerEvent, BreakerState } from './state.js'
import { Window } from './window.js'

export type { BreakerEvent, BreakerState } from './state.js'

/**
 * Stands between callers and a target: closed while it works, open while it rests, half open while a few calls test
 * it. It has no timer; an open one whose time is up is tested by the next caller.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from 'holdfast'
 *
 * const breaker = new CircuitBreaker({ id: 'mail', failureThreshold: 2 })
 * await breaker.run(async () => 'sent') // => 'sent'
 * breaker.admit()?.failure()
 * breaker.admit()?.failure()
 * breaker.state // => 'open'
 * await breaker.run(async () => 'sent') // throws CIRCUIT_OPEN
 * ```
 */
export class CircuitBreaker {
  /** What it is called in events and errors. */
  readonly id: string
  /** @internal */
  settings: BreakerSettings
  /** @internal */
  phase: BreakerState = 'closed'
  /** @internal Switched off: it reads as closed, and nothing counts. */
  off = false
  /** @internal Grows with each change of state. A result counts only in the epoch that admitted its call. */
  epoch = 0
  /** @internal What it has seen while closed; made with the first result that matters. */
  window: Window | undefined = undefined
  /** @internal The failures that opened it. */
  failures = 0
  /** @internal When it may be tested. */
  until = 0
  /** @internal The tests in flight, made with the first. */
  probes: Pass[] | undefined = undefined
  /** @internal Successful tests. */
  successes = 0
  /** @internal How often it opened without a long enough rest between. */
  openings = 0
  /** @internal How long it last stays or stayed open. */
  openFor = 0
  /** @internal When it last closed. */
  closedAt = Number.NEGATIVE_INFINITY
  /** @internal The results behind an adaptive threshold. */
  results: string | undefined
  /** @internal Wall time of the last failure that counted. */
  lastFailureTime: number | undefined = undefined
  /** @internal Wall time of the last change of state. */
  lastStateChange: number | undefined = undefined
  /** @internal The way to others of the same name elsewhere; undefined for one that stands alone. */
  link: BreakerLink | undefined = undefined
  private listeners: Listeners<BreakerEvent> | undefined = undefined

  constructor(options?: CircuitBreakerOptions)
  /** @internal With settings that are checked already and shared with other breakers. */
  constructor(options: { id: string }, settings: BreakerSettings)
  constructor(options?: CircuitBreakerOptions, settings?: BreakerSettings) {
    this.settings = settings ?? (options === undefined ? BREAKER_DEFAULTS : settingsOf(options))
    this.id = options?.id ?? ''
    this.results = this.settings.adaptive ? '' : undefined
  }

  /**
   * A breaker as it was when the snapshot was taken: a closed one with its window, an open one with what is left of its
   * time but never more than its options give it, a half-open one open with its time up.
   *
   * @throws INVALID_OPTIONS for a snapshot that is damaged
   */
  static restore(snapshot: BreakerSnapshot, options?: CircuitBreakerOptions): CircuitBreaker {
    return restored(snapshot, options)
  }

  /** Where it stands. */
  get state(): BreakerState {
    return this.phase
  }

  /** The failures in its window; while it is not closed, those that opened it. */
  get failureCount(): number {
    return this.phase === 'closed' ? (this.window?.failures(this.settings.clock.now()) ?? 0) : this.failures
  }

  /** When a caller may test it, in epoch milliseconds, be that past; undefined unless it is open. */
  get nextTestTime(): number | undefined {
    const { clock } = this.settings
    return this.phase === 'open' ? clock.wall() + this.until - clock.now() : undefined
  }

  /** Whether it is switched off. */
  get disabled(): boolean {
    return this.off
  }

  /**
   * Calls `fn` if the breaker lets it, and counts the result.
   *
   * @throws CIRCUIT_OPEN with `retryAfter` where it does not
   */
  async run<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    const permit = this.admit()
    if (permit === undefined) throw this.refusal()
    try {
      const value = await fn()
      permit.success()
      return value
    } catch (error) {
      permit.failure(error)
      throw error
    }
  }

  /** The leave to make one call, whose result must be told to it; undefined where the breaker refuses. */
  admit(): Permit | undefined {
    const ticket = new Ticket(this)
    return this.admits(ticket, undefined) ? ticket : undefined
  }

  /** Opens it now, whatever it has seen; where it is open, its time starts anew. Nothing while it is disabled. */
  trip(): void {
    if (this.phase === 'open') {
      this.openFor = longestOpen(this.settings, this.openings) // its settings may have changed
      this.until = this.settings.clock.now() + this.openFor
      this.successes = 0 // a restored one may have some
    } else if (!this.off) this.open(this.failureCount)
    if (!this.off) this.link?.ordered('trip')
  }

  /** Closes it now and forgets its window. Nothing while it is disabled. */
  reset(): void {
    if (this.off) return
    this.enter('closed')
    this.link?.ordered('reset')
  }

  /** Switches it off: every call passes and nothing counts. */
  disable(): void {
    this.off = true
    this.enter('closed')
    this.link?.ordered('disable')
  }

  /** Switches it on again, closed and with an empty window. Nothing where it is on. */
  enable(): void {
    if (!this.off) return
    this.off = false
    this.enter('closed')
    this.link?.ordered('enable')
  }

  /** All of its state as plain data, for {@link CircuitBreaker.restore}. */
  snapshot(): BreakerSnapshot {
    return snapshotOf(this)
  }

  /** Tells `listener` of every change of state, until the function it returns is called. */
  on(listener: (event: BreakerEvent) => void): () => void {
    this.listeners ??= new Listeners('a circuit breaker')
    return this.listeners.add(listener)
  }

  /**
   * @internal Goes by other settings from now on, and stays where it is: an open one for no longer than they say, a closed
   * one with what its window holds, unless that is of another kind.
   */
  reconfigure(settings: BreakerSettings): void {
    takeSettings(this, settings)
  }

  /** @internal Goes where others say that it stands; an open one stays so no longer than its settings allow. */
  follow(news: BreakerNews): void {
    followNews(this, news)
  }

  /** @internal A test may begin at that time, unless its link says otherwise by then. */
  due(until: number): void {
    this.until = until
    this.probes = this.probes?.filter(({ epoch }) => epoch >= 0)
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { id, state, failureCount } = this
    return showAs('CircuitBreaker', { id, state, failureCount }, options, inspect)
  }

  /** @internal Lets a call through, or not. A test may hold its place as long as `lease`, counted from `now`. */
  admits(pass: Pass, lease: number | undefined, now = this.settings.clock.now()): boolean {
    const { halfOpenMax } = this.settings
    if (this.phase === 'closed') {
      pass.epoch = this.epoch
      pass.startedAt = now
      return true
    }
    if (this.phase === 'open') {
      // A clock that went back does not make it stay open for longer.
      this.until = Math.min(this.until, now + this.openFor)
      if (now < this.until) {
        if (this.link !== undefined) this.link.wanted = true
        return false
      }
      if (!mayTest(this, lease, now)) return false
      this.enter('half_open')
      if (this.state !== 'half_open') return this.admits(pass, lease, now) // a listener changed it again
    }
    const probes = this.probes?.filter(({ leaseEnd, startedAt }) => leaseEnd > now && startedAt <= now) ?? []
    this.probes = probes
    if (probes.length >= halfOpenMax || !mayTest(this, lease, now)) return false
    const held = leaseOf(this.settings, lease)
    pass.epoch = this.epoch
    pass.startedAt = now
    pass.leaseEnd = now + held
    probes.push(pass)
    this.link?.begun(pass, held)
    return true
  }

  /** @internal Takes the result of a call, once; `at` is when it ended, where that was not just now. */
  settle(pass: Pass, verdict: Verdict, at?: number): void {
    const { slowCallDuration, clock } = this.settings
    const { epoch, startedAt, leaseEnd } = pass
    pass.epoch = -1
    if (epoch !== this.epoch) return
    if (this.phase === 'half_open') {
      const place = this.probes?.indexOf(pass) ?? -1
      if (place < 0) return // its lease ended, and another took its place
      this.probes?.splice(place, 1)
      const late = (at ?? clock.now()) > leaseEnd
      this.link?.ended(pass, late ? undefined : verdict)
      if (late) return
    }
    if (verdict !== undefined)
      this.result(
        verdict === 'failure',
        slowCallDuration !== undefined && clock.now() - startedAt >= slowCallDuration,
      )
  }

  /** @internal Counts a result of this epoch. */
  result(failed: boolean, slow: boolean): void {
    if (this.off) return
    const { phase, link } = this
    this.count(failed, slow)
    link?.counted(phase, failed || (slow && phase === 'half_open'))
  }

  private count(failed: boolean, slow: boolean): void {
    const { settings } = this
    const { failureThreshold, clock } = settings
    if (this.results !== undefined) this.results = remember(this.results, !failed)
    if (failed) this.lastFailureTime = clock.wall()
    if (this.phase === 'half_open') {
      // A target that answers too slowly has not recovered.
      if (failed || slow) this.open(this.failures + 1)
      else if (++this.successes >= settings.successThreshold) this.enter('closed')
      return
    }
    if (this.window === undefined) {
      if (!failed && settings.windowType !== 'rate') return
      this.window = new Window(settings)
    }
    const now = clock.now()
    const threshold = this.results === undefined ? failureThreshold : patience(this.results, failureThreshold)
    if (this.window.add(now, failed, slow, threshold)) this.open(this.window.failures(now))
  }

  /** @internal The error for a caller that was not admitted. */
  refusal(): HoldfastError {
    const { id, phase, probes = [], settings } = this
    let { until } = this
    if (phase === 'half_open') until = Math.min(...probes.map(({ leaseEnd }) => leaseEnd))
    const retryAfter = Math.max(0, until - settings.clock.now())
    const message = `circuit breaker ${id && `${id} `}is ${phase}; try again in ${Math.ceil(retryAfter)} ms`
    return refusal('CIRCUIT_OPEN', message, { retryAfter })
  }

  private open(failures: number): void {
    const { settings } = this
    const now = settings.clock.now()
    if (this.phase === 'closed' && now - this.closedAt >= this.openFor) this.openings = 0
    this.openFor = longestOpen(settings, ++this.openings)
    this.until = now + this.openFor
    this.failures = failures
    this.enter('open')
  }

  /** @internal Ends the present epoch, and tells the listeners where that changes the state. */
  enter(toState: BreakerState): void {
    const { phase: fromState, settings, id } = this
    this.phase = toState
    this.epoch++
    this.window = undefined
    if (toState === 'closed') {
      if (fromState !== 'closed') this.closedAt = settings.clock.now()
      this.failures = 0
      this.successes = 0
    } else if (toState === 'open') this.successes = 0
    this.probes = undefined
    if (fromState === toState) return
    const timestamp = settings.clock.wall()
    this.lastStateChange = timestamp
    this.listeners?.emit({ id, fromState, toState, timestamp, failureCount: this.failures })
  }
}

/** Outside the class: esbuild renames a class that refers to itself. */
function restored(snapshot: BreakerSnapshot, options: CircuitBreakerOptions | undefined): CircuitBreaker {
  const read = readSnapshot(snapshot)
  return restoreInto(new CircuitBreaker({ id: read.id, ...options }), read)
}
