import { refuse, show } from '../options.js'
import { callAs } from './attempt.js'
import { configuration } from './configure.js'
import { copyFacts } from './facts.js'
import { isSame, labelOf, ownerOf, type Place } from './owner.js'
import { type Plan, planFor } from './plan.js'
import type { Kind, Settings } from './settings/table.js'

type Method = (this: unknown, ...args: unknown[]) => unknown

const sites = new WeakMap<object, Site>()

/** A decorated method: what its decorators said, and the function that stands in for it in its class. */
export class Site {
  private readonly declared: Partial<Settings> = {}
  private readonly fn: Method
  private readonly place: Place
  private readonly wrapper: Method
  private owner: string | undefined = undefined
  private plan: Plan | undefined = undefined
  private isFallbackChecked = false

  /** The site of a method that another decorator has met before, or a new one. */
  static at(fn: Method, place: Place): Site {
    const known = sites.get(fn)
    // One that has been called belongs to a class already: it was borrowed.
    return known !== undefined && known.plan === undefined && isSame(known.place, place)
      ? known
      : new Site(fn, place)
  }

  private constructor(fn: Method, place: Place) {
    this.fn = fn
    this.place = place
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const site = this
    this.wrapper = function (...args) {
      return site.call(this, args)
    }
    copyFacts(fn, this.wrapper)
    sites.set(this.wrapper, this)
  }

  /** Takes another decorator, and gives the method to put into the class. */
  add<K extends Kind>(kind: K, settings: Settings[K]): Method {
    const { declared, place, wrapper } = this
    const label = labelOf(place)
    if (kind in declared)
      refuse(`@${kind} of ${label}`, [`${kind} stands there already, and a method takes one`])
    if ((settings as Settings['Fallback']).fallbackMethod === place.key)
      refuse(`@${kind} of ${label}`, ['fallbackMethod: a method cannot fall back to itself'])
    declared[kind] = settings
    const { target } = place
    if (kind === 'Fallback' && target !== undefined) this.checkFallback(target)
    return wrapper
  }

  /**
   * Rejects a fallback method that an object does not have: of the prototype or the class itself where a decorator was
   * told it, else of the first object that is made.
   */
  checkFallback(self: object): void {
    const { declared, place, wrapper } = this
    const { fallbackMethod } = declared.Fallback ?? {}
    if (this.isFallbackChecked || fallbackMethod === undefined) return
    const owner = ownerOf(place, wrapper, self) ?? 'the class'
    if (typeof (self as Record<PropertyKey, unknown>)[fallbackMethod] !== 'function')
      refuse(`@Fallback of ${owner}.${labelOf(place)}`, [
        `fallbackMethod: expected a method of ${owner}, got ${show(fallbackMethod)}`,
      ])
    this.isFallbackChecked = true
  }

  private call(self: unknown, args: unknown[]): unknown {
    const { fn } = this
    if (!configuration().enabled) return fn.apply(self, args)
    let plan: Plan
    try {
      plan = this.current(self)
    } catch (error) {
      return Promise.reject(error)
    }
    const { guard, bulkhead, fall } = plan
    let number = 1
    const result = guard.run((attempt) => {
      number = attempt.number
      if (bulkhead === undefined) return callAs(attempt, fn, self, args)
      return bulkhead.run(() => callAs(attempt, fn, self, args), { signal: attempt.signal })
    })
    return fall === undefined ? result : result.catch((error) => fall(error, self, args, number))
  }

  /** The plan for the configuration that holds now. */
  private current(self: unknown): Plan {
    const { plan, place, wrapper, declared } = this
    const config = configuration()
    if (plan !== undefined && plan.config === config && this.owner !== undefined) return plan
    const owner = (this.owner ??= ownerOf(place, wrapper, self))
    if (plan !== undefined && plan.config === config && owner === undefined) return plan
    this.plan = planFor(config, owner, labelOf(place), declared, plan)
    return this.plan
  }
}
