import { formatValue, throwIfInvalid } from '../options.js'
import { callInAttempt } from './attempt.js'
import { currentConfig } from './configure.js'
import { copyMetadata } from './copy-metadata.js'
import { formatMethodName, isSameMethod, type MethodLocation, ownerOf } from './method-location.js'
import { createMethodPolicy, type MethodPolicy } from './method-policy.js'
import type { DecoratorName, DecoratorSettings } from './settings/table.js'

type MethodFunction = (this: unknown, ...args: unknown[]) => unknown

const decoratedMethods = new WeakMap<object, MethodDecoration>()

/** A decorated method: what its decorators said, and the function that stands in for it in its class. */
export class MethodDecoration {
  private readonly declared: Partial<DecoratorSettings> = {}
  private readonly fn: MethodFunction
  private readonly location: MethodLocation
  private readonly wrapper: MethodFunction
  private owner: string | undefined = undefined
  private policy: MethodPolicy | undefined = undefined
  private isFallbackChecked = false

  /** The site of a method that another decorator has met before, or a new one. */
  static forMethod(fn: MethodFunction, location: MethodLocation): MethodDecoration {
    const existing = decoratedMethods.get(fn)
    // One that has been called belongs to a class already: it was borrowed.
    return existing !== undefined &&
      existing.policy === undefined &&
      isSameMethod(existing.location, location)
      ? existing
      : new MethodDecoration(fn, location)
  }

  private constructor(fn: MethodFunction, place: MethodLocation) {
    this.fn = fn
    this.location = place
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const site = this
    this.wrapper = function (...args) {
      return site.call(this, args)
    }
    copyMetadata(fn, this.wrapper)
    decoratedMethods.set(this.wrapper, this)
  }

  /** Takes another decorator, and gives the method to put into the class. */
  addDecorator<K extends DecoratorName>(kind: K, settings: DecoratorSettings[K]): MethodFunction {
    const { declared, location, wrapper } = this
    const label = formatMethodName(location)
    if (kind in declared)
      throwIfInvalid(`@${kind} of ${label}`, [`${kind} stands there already, and a method takes one`])
    if ((settings as DecoratorSettings['Fallback']).fallbackMethod === location.key)
      throwIfInvalid(`@${kind} of ${label}`, ['fallbackMethod: a method cannot fall back to itself'])
    declared[kind] = settings
    const { target } = location
    if (kind === 'Fallback' && target !== undefined) this.checkFallback(target)
    return wrapper
  }

  /**
   * Rejects a fallback method that an object does not have: of the prototype or the class itself where a decorator was
   * told it, else of the first object that is made.
   */
  checkFallback(self: object): void {
    const { declared, location, wrapper } = this
    const { fallbackMethod } = declared.Fallback ?? {}
    if (this.isFallbackChecked || fallbackMethod === undefined) return
    const owner = ownerOf(location, wrapper, self) ?? 'the class'
    if (typeof (self as Record<PropertyKey, unknown>)[fallbackMethod] !== 'function')
      throwIfInvalid(`@Fallback of ${owner}.${formatMethodName(location)}`, [
        `fallbackMethod: expected a method of ${owner}, got ${formatValue(fallbackMethod)}`,
      ])
    this.isFallbackChecked = true
  }

  private call(self: unknown, args: unknown[]): unknown {
    const { fn } = this
    if (!currentConfig().enabled) return fn.apply(self, args)
    let plan: MethodPolicy
    try {
      plan = this.currentPolicy(self)
    } catch (error) {
      return Promise.reject(error)
    }
    const { guard, bulkhead, fallback } = plan
    let number = 1
    const result = guard.run((attempt) => {
      number = attempt.number
      if (bulkhead === undefined) return callInAttempt(attempt, fn, self, args)
      return bulkhead.run(() => callInAttempt(attempt, fn, self, args), { signal: attempt.signal })
    })
    return fallback === undefined ? result : result.catch((error) => fallback(error, self, args, number))
  }

  /** The plan for the configuration that holds now. */
  private currentPolicy(self: unknown): MethodPolicy {
    const { policy, location, wrapper, declared } = this
    const config = currentConfig()
    if (policy !== undefined && policy.config === config && this.owner !== undefined) return policy
    const owner = (this.owner ??= ownerOf(location, wrapper, self))
    if (policy !== undefined && policy.config === config && owner === undefined) return policy
    this.policy = createMethodPolicy(config, owner, formatMethodName(location), declared, policy)
    return this.policy
  }
}
