import type { IBasePolicyOptions } from './types.js'

type Constructor<T> = new (...args: never) => T

const always = () => true
const never = () => false

const typeFilter =
  <T>(cls: Constructor<T>, predicate: (value: T) => boolean = always) =>
  (value: unknown): boolean =>
    value instanceof cls && predicate(value)

/** The errors and results that a retry, a circuit breaker or a fallback handles as failures. It is immutable. */
export class Policy {
  readonly options: Readonly<IBasePolicyOptions>

  constructor(options: Readonly<IBasePolicyOptions>) {
    this.options = options
  }

  /** Also handles errors of the class, or those of them for which the predicate is true. */
  orType<T>(cls: Constructor<T>, predicate?: (error: T) => boolean): Policy {
    return this.orWhen(typeFilter(cls, predicate))
  }

  /** Also handles errors for which the predicate is true. */
  orWhen(predicate: (error: Error) => boolean): Policy {
    const { errorFilter, resultFilter } = this.options
    return createPolicy({ errorFilter: (error) => errorFilter(error) || predicate(error), resultFilter })
  }

  /** Also handles results for which the predicate is true. */
  orWhenResult(predicate: (r: unknown) => boolean): Policy {
    const { errorFilter, resultFilter } = this.options
    return createPolicy({ errorFilter, resultFilter: (result) => resultFilter(result) || predicate(result) })
  }

  /** Also handles results of the class, or those of them for which the predicate is true. */
  orResultType<T>(cls: Constructor<T>, predicate?: (error: T) => boolean): Policy {
    return this.orWhenResult(typeFilter(cls, predicate))
  }
}

// Not within the class: in a bundle, a class that refers to itself gets another name, which programs log.
const createPolicy = (options: IBasePolicyOptions): Policy => new Policy(options)

/** Handles all errors. */
export const handleAll: Policy = /* @__PURE__ */ new Policy({ errorFilter: always, resultFilter: never })

/** Handles errors of the class, or those of them for which the predicate is true. */
export const handleType = <T>(cls: Constructor<T>, predicate?: (error: T) => boolean): Policy =>
  handleWhen(typeFilter(cls, predicate))

/** Handles errors for which the predicate is true. */
export const handleWhen = (predicate: (error: Error) => boolean): Policy =>
  new Policy({ errorFilter: predicate, resultFilter: never })

/** Handles results of the class, or those of them for which the predicate is true. */
export const handleResultType = <T>(cls: Constructor<T>, predicate?: (error: T) => boolean): Policy =>
  handleWhenResult(typeFilter(cls, predicate))

/** Handles results for which the predicate is true. */
export const handleWhenResult = (predicate: (error: unknown) => boolean): Policy =>
  new Policy({ errorFilter: never, resultFilter: predicate })
