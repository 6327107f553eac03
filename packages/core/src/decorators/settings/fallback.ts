import type { Matcher } from '../../classify/index.js'
import { type OptionSpecOf, ofType } from '../../options.js'
import { matcherList } from '../../retry/options.js'

/** The failed call, as given to a fallback. */
export interface FallbackCall {
  /** The arguments of the call that failed. */
  readonly args: readonly unknown[]
  /** The number of the last attempt. */
  readonly attempt: number
}

/** Returns a value in place of the error; `this` is that of the method. */
// oxlint-disable-next-line typescript/no-explicit-any -- `this` can be of any class
export type FallbackFunction<R = unknown> = (this: any, error: unknown, call: FallbackCall) => R

/** The fallback of a method. `R` is the result of the function in `value`. */
export interface FallbackSettings<R = unknown> {
  /** The method of the same object that is called with the same arguments. */
  fallbackMethod?: string | symbol | undefined
  /** The function that is called with the error. Exactly one of `fallbackMethod` and `value` is required. */
  value?: FallbackFunction<R> | undefined
  /** Errors that the fallback handles. Absent: all. */
  applyOn?: readonly Matcher[] | undefined
  /** Errors that the fallback does not handle; takes precedence over `applyOn`. */
  skipOn?: readonly Matcher[] | undefined
}

export const FALLBACK_SPEC = {
  fallbackMethod: [
    undefined,
    ['the name of a method', (value: unknown) => /^(string|symbol)$/.test(typeof value)],
  ],
  value: [undefined, ofType('function')],
  applyOn: [undefined, matcherList],
  skipOn: [undefined, matcherList],
} satisfies OptionSpecOf<FallbackSettings>
