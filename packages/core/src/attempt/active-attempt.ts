import { sharedByAllCopies } from '../shared-registry.js'
import type { Attempt } from './attempt.js'

/** The current attempt of all copies of this package. The number at the end grows with each change of the object. */
const active = /* @__PURE__ */ sharedByAllCopies(
  'active-attempt.1',
  (): { attempt: Attempt | undefined } => ({
    attempt: undefined,
  }),
)

/** Calls a method with `attempt` as the current attempt. */
export function callInAttempt(
  attempt: Attempt,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: unknown[],
): unknown {
  const previousAttempt = active.attempt
  active.attempt = attempt
  try {
    return fn.apply(self as never, args as never[])
  } finally {
    active.attempt = previousAttempt
  }
}

/**
 * The current attempt of a decorated method, with its number and its signal, which `@Timeout` aborts. Read it before the first
 * `await` of the method: after that it is undefined, or that of another call.
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * const numbers: (number | undefined)[] = []
 *
 * class Pages {
 *   @ft.Retry({ jitter: 0 })
 *   async load(): Promise<string> {
 *     const attempt = ft.currentAttempt()
 *     numbers.push(attempt?.number)
 *     if (numbers.length < 2) throw new Error('not yet')
 *     return 'page'
 *   }
 * }
 *
 * await new Pages().load() // => 'page'
 * numbers // => [1, 2]
 * ```
 */
export function currentAttempt(): Attempt | undefined {
  return active.attempt
}
