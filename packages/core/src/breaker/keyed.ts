import { report } from '../report.js'
import { type BreakerEvent, CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How many of the least recently used breakers are looked at for one that may go. */
const LOOK_AT = 16

/** Chooses the breaker of a call by its context: a host, a tenant, a model. */
export type BreakerKey = (context: unknown) => string

/**
 * One breaker per key, made when first asked for. Beyond `maxKeys` the least recently used closed one is forgotten; an
 * open one never is, so that a bad target stays set aside.
 */
export class KeyedBreakers {
  private readonly breakers = new Map<string, CircuitBreaker>()
  private readonly settings: BreakerSettings
  private readonly prefix: string
  private readonly keyOf: BreakerKey
  private readonly maxKeys: number
  /** Hears of every change of state in any of them. */
  listener: ((event: BreakerEvent) => void) | undefined = undefined

  constructor(settings: BreakerSettings, prefix: string, keyOf: BreakerKey, maxKeys: number) {
    this.settings = settings
    this.prefix = prefix
    this.keyOf = keyOf
    this.maxKeys = maxKeys
  }

  /** How many there are. */
  get size(): number {
    return this.breakers.size
  }

  /** The breaker of a call. A key function that throws is reported once; its calls share one breaker. */
  forContext(context: unknown): CircuitBreaker {
    let key = ''
    try {
      key = String(this.keyOf(context))
    } catch (error) {
      report('the key function of a breaker', this.keyOf, error)
    }
    return this.use(key)
  }

  /** The breaker of a key, if it has been used and not been forgotten. */
  get(key: string): CircuitBreaker | undefined {
    return this.breakers.get(key)
  }

  /** Every breaker with its key, least recently used first. */
  entries(): [key: string, breaker: CircuitBreaker][] {
    return [...this.breakers]
  }

  private use(key: string): CircuitBreaker {
    let breaker = this.breakers.get(key)
    if (breaker !== undefined) this.breakers.delete(key)
    else breaker = this.make(key)
    this.breakers.set(key, breaker)
    if (this.breakers.size > this.maxKeys) this.retire(breaker)
    return breaker
  }

  private make(key: string): CircuitBreaker {
    const id = this.prefix === '' ? key : `${this.prefix}:${key}`
    const breaker = new CircuitBreaker({ id }, this.settings)
    breaker.on((event) => this.listener?.(event))
    return breaker
  }

  private retire(used: CircuitBreaker): void {
    let looked = 0
    for (const [key, breaker] of this.breakers) {
      if (++looked > LOOK_AT || breaker === used) return
      this.breakers.delete(key)
      if (breaker.state === 'closed' && !breaker.disabled) return
      this.breakers.set(key, breaker)
    }
  }
}
