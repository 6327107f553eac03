import { callInAttempt } from '../attempt/active-attempt.js'
import { createProblem, formatValue, optionProblem, throwIfInvalid } from '../options.js'
import { throwUnwrapped } from '../retry/decide.js'
import { currentConfig } from './configure.js'
import { copyMetadata } from './copy-metadata.js'
import { formatMethodName, isSameMethod, type MethodLocation, ownerOf } from './method-location.js'
import { createMethodPolicy, type MethodPolicy } from './method-policy.js'
import type { DecoratorName, DecoratorSettings } from './settings/table.js'

type MethodFunction = (this: unknown, ...args: unknown[]) => unknown

/** Calls a method without any strategy. An error of `stopRetrying` is unwrapped, as in a guard with `enabled: false`. */
function callDirectly(fn: MethodFunction, self: unknown, args: unknown[]): unknown {
  try {
    const result = fn.apply(self, args)
    return result instanceof Promise ? result.catch(throwUnwrapped) : result
  } catch (error) {
    return throwUnwrapped(error)
  }
}

const decoratedMethods = new WeakMap<object, MethodDecoration>()

/** A decorated method: the settings of its decorators, and the wrapper that replaces it in its class. */
export class MethodDecoration {
  private readonly declared: Partial<DecoratorSettings> = {}
  private readonly fn: MethodFunction
  private readonly location: MethodLocation
  private readonly wrapper: MethodFunction
  private owner: string | undefined = undefined
  private policy: MethodPolicy | undefined = undefined
  private isFallbackChecked = false

  /** The decoration that another decorator of the same method has created, or a new one. */
  static forMethod(fn: MethodFunction, location: MethodLocation): MethodDecoration {
    const existing = decoratedMethods.get(fn)
    // A method that has already been called is complete: another class reuses it, and gets its own decoration.
    return existing !== undefined &&
      existing.policy === undefined &&
      isSameMethod(existing.location, location)
      ? existing
      : new MethodDecoration(fn, location)
  }

  private constructor(fn: MethodFunction, location: MethodLocation) {
    this.fn = fn
    this.location = location
    // oxlint-disable-next-line no-this-alias -- the function below has its own `this`
    const decoration = this
    this.wrapper = function (...args) {
      return decoration.call(this, args)
    }
    copyMetadata(fn, this.wrapper)
    decoratedMethods.set(this.wrapper, this)
  }

  /** Adds the settings of a decorator. Returns the wrapper, which replaces the method in the class. */
  addDecorator<K extends DecoratorName>(kind: K, settings: DecoratorSettings[K]): MethodFunction {
    const { declared, location, wrapper } = this
    const label = formatMethodName(location)
    if (kind in declared)
      throwIfInvalid(`@${kind} of ${label}`, [createProblem('', 'conflict', `one @${kind}`, 'a second one')])
    if ((settings as DecoratorSettings['Fallback']).fallbackMethod === location.key)
      throwIfInvalid(`@${kind} of ${label}`, [
        createProblem(
          'fallbackMethod',
          'conflict',
          'another method, because a method cannot fall back to itself',
          formatValue(label),
        ),
      ])
    declared[kind] = settings
    const { target } = location
    if (kind === 'Fallback' && target !== undefined) this.checkFallback(target)
    return wrapper
  }

  /**
   * Rejects a fallback method that does not exist. Experimental decorators check the prototype or class when it is decorated;
   * standard decorators check the first instance that is created.
   */
  checkFallback(self: object): void {
    const { declared, location, wrapper } = this
    const { fallbackMethod } = declared.Fallback ?? {}
    if (this.isFallbackChecked || fallbackMethod === undefined) return
    const owner = ownerOf(location, wrapper, self) ?? 'the class'
    if (typeof (self as Record<PropertyKey, unknown>)[fallbackMethod] !== 'function')
      throwIfInvalid(`@Fallback of ${owner}.${formatMethodName(location)}`, [
        optionProblem('fallbackMethod', `a method of ${owner}`, fallbackMethod),
      ])
    this.isFallbackChecked = true
  }

  private call(self: unknown, args: unknown[]): unknown {
    const { fn } = this
    if (!currentConfig().enabled) return callDirectly(fn, self, args)
    let policy: MethodPolicy
    try {
      policy = this.currentPolicy(self)
    } catch (error) {
      return Promise.reject(error)
    }
    const { guard, bulkhead, fallback } = policy
    let attemptNumber = 1
    const result = guard.run((attempt) => {
      attemptNumber = attempt.number
      if (bulkhead === undefined) return callInAttempt(attempt, fn, self, args)
      return bulkhead.run(() => callInAttempt(attempt, fn, self, args), { signal: attempt.signal })
    })
    return fallback === undefined
      ? result
      : result.catch((error) => fallback(error, self, args, attemptNumber))
  }

  /** The policy for the active configuration. */
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
