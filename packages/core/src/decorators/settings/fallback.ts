import type { Matcher } from '../../classify/index.js'
import { type SpecOf, typed } from '../../options.js'
import { matchers } from '../../retry/options.js'

/** What a fallback is told besides the error. */
export interface FallbackCall {
  /** The arguments of the call that failed. */
  readonly args: readonly unknown[]
  /** The number of its last attempt. */
  readonly attempt: number
}

/** Makes a value of a failure; `this` is the method's. */
// oxlint-disable-next-line typescript/no-explicit-any -- `this` is whatever the class is
export type FallbackFunction = (this: any, error: unknown, call: FallbackCall) => unknown

/** What a method answers instead of failing. */
export interface FallbackSettings {
  /** The method of the same object to call instead, with the same arguments. */
  fallbackMethod?: string | symbol
  /** A function to call instead, with the error. One of the two is needed. */
  value?: FallbackFunction
  /** Errors it is for. Absent: all. */
  applyOn?: readonly Matcher[]
  /** Errors it is not for; wins over `applyOn`. */
  skipOn?: readonly Matcher[]
}

export const FALLBACK = {
  fallbackMethod: [
    undefined,
    ['the name of a method', (value: unknown) => /^(string|symbol)$/.test(typeof value)],
  ],
  value: [undefined, typed('function')],
  applyOn: [undefined, matchers],
  skipOn: [undefined, matchers],
} satisfies SpecOf<FallbackSettings>
