import type { Matcher } from '../../classify/index.js'
import { type OptionSpecOf, ofType } from '../../options.js'
import { matcherList } from '../../retry/options.js'

/** What a fallback is told besides the error. */
export interface FallbackCall {
  /** The arguments of the call that failed. */
  readonly args: readonly unknown[]
  /** The number of its last attempt. */
  readonly attempt: number
}

/** Makes a value of a failure; `this` is the method's. */
// oxlint-disable-next-line typescript/no-explicit-any -- `this` is whatever the class is
export type FallbackFunction<R = unknown> = (this: any, error: unknown, call: FallbackCall) => R

/** What a method answers instead of failing. `R` is what the function in `value` gives. */
export interface FallbackSettings<R = unknown> {
  /** The method of the same object to call instead, with the same arguments. */
  fallbackMethod?: string | symbol | undefined
  /** A function to call instead, with the error. One of the two is needed. */
  value?: FallbackFunction<R> | undefined
  /** Errors it is for. Absent: all. */
  applyOn?: readonly Matcher[] | undefined
  /** Errors it is not for; wins over `applyOn`. */
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
