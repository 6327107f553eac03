import { reportOnce } from '../report.js'
import { type BreakerEvent, CircuitBreaker } from './breaker.js'
import type { BreakerOptions, BreakerSettings } from './options.js'

/** How many of the least recently used breakers are inspected for eviction at a time. */
const MAX_EVICTION_SCAN = 16

/** Returns the key of the breaker of a call from the call's context: a host, a tenant, a model. */
export type BreakerKey = (context: unknown) => string

/** Options of one breaker per key instead of one for the guard. */
export interface KeyedBreakerOptions extends BreakerOptions {
  /** Returns the key of the breaker of a call from the call's context: a host, a tenant, a model. */
  key: BreakerKey
  /** The maximum number of breakers; beyond it the least recently used closed one is deleted. @defaultValue 10000 */
  maxKeys?: number | undefined
}

/**
 * One breaker per key, created at its first use. Beyond `maxKeys` the least recently used closed breaker is deleted; an open
 * one is never deleted, so that a failing target stays rejected.
 */
export class KeyedBreakers {
  /** The breakers, least recently used first. */
  readonly breakers = new Map<string, CircuitBreaker>()
  /** Called with every state change of any of the breakers. */
  listener: ((event: BreakerEvent) => void) | undefined = undefined
  private readonly settings: BreakerSettings
  private readonly prefix: string
  private readonly keyOf: BreakerKey
  private readonly maxKeys: number

  constructor(settings: BreakerSettings, name: string, keyOf: BreakerKey, maxKeys: number) {
    this.settings = settings
    this.prefix = name && `${name}:`
    this.keyOf = keyOf
    this.maxKeys = maxKeys
  }

  /** Returns the breaker of a call. A key function that throws is reported once, and its calls share one breaker. */
  forContext(context: unknown): CircuitBreaker {
    const { breakers, keyOf } = this
    let key = ''
    try {
      key = `${keyOf(context)}`
    } catch (error) {
      reportOnce('the key function of a breaker', keyOf, error)
    }
    const breaker = breakers.get(key) ?? this.createBreaker(key)
    breakers.delete(key)
    if (breakers.size >= this.maxKeys) this.evict()
    breakers.set(key, breaker)
    return breaker
  }

  private createBreaker(key: string): CircuitBreaker {
    const breaker = new CircuitBreaker({ id: this.prefix + key }, this.settings)
    breaker.on((event) => this.listener?.(event))
    return breaker
  }

  /** Deletes closed breakers among the least recently used few. The others move to the end, so that the next scan begins after them. */
  private evict(): void {
    const { breakers, maxKeys } = this
    let scanned = 0
    for (const [key, breaker] of breakers) {
      if (breakers.size < maxKeys || scanned++ === MAX_EVICTION_SCAN) return
      breakers.delete(key)
      if (breaker.currentState !== 'closed' || breaker.isDisabled) breakers.set(key, breaker)
    }
  }
}
