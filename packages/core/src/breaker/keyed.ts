import { report } from '../report.js'
import { type BreakerEvent, CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How many of the least recently used breakers are looked at for one that may go. */
const LOOK_AT = 16

/** Names the breaker of a call by its context: a host, a tenant, a model. */
export type BreakerKey = (context: unknown) => string

/**
 * One breaker per key, made when first asked for. Beyond `maxKeys` the least recently used closed one is forgotten; an
 * open one never is, so that a bad target stays set aside.
 */
export class KeyedBreakers {
  /** The breakers, least recently used first. */
  readonly map = new Map<string, CircuitBreaker>()
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
    const { map, keyOf } = this
    let key = ''
    try {
      key = `${keyOf(context)}`
    } catch (error) {
      report('the key function of a breaker', keyOf, error)
    }
    const breaker = map.get(key) ?? this.make(key)
    map.delete(key)
    if (map.size >= this.maxKeys) this.retire()
    map.set(key, breaker)
    return breaker
  }

  private make(key: string): CircuitBreaker {
    const breaker = new CircuitBreaker({ id: this.prefix + key }, this.settings)
    breaker.on((event) => this.listener?.(event))
    return breaker
  }

  /** Makes room, as far as a look at a few of them goes; those that stay are looked at last the next time. */
  private retire(): void {
    const { map, maxKeys } = this
    let looked = 0
    for (const [key, breaker] of map) {
      if (map.size < maxKeys || looked++ === LOOK_AT) return
      map.delete(key)
      if (breaker.phase !== 'closed' || breaker.off) map.set(key, breaker)
    }
  }
}
