import { reportOnce } from '../report.js'
import { type BreakerEvent, CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How many of the least recently used breakers are looked at for one that may go. */
const MAX_EVICTION_SCAN = 16

/** Names the breaker of a call by its context: a host, a tenant, a model. */
export type BreakerKey = (context: unknown) => string

/**
 * One breaker per key, made when first asked for. Beyond `maxKeys` the least recently used closed one is forgotten; an
 * open one never is, so that a bad target stays set aside.
 */
export class KeyedBreakers {
  /** The breakers, least recently used first. */
  readonly breakers = new Map<string, CircuitBreaker>()
  /** Hears of every change of state in any of them. */
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

  /** The breaker of a call. A key function that throws is reported once; its calls share one breaker. */
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

  /** Makes room, as far as a look at a few of them goes; those that stay are looked at last the next time. */
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
