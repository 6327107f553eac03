import type { Duration } from '../duration.js'
import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { TimeoutSettings } from './settings/timeout.js'

/**
 * Ends each attempt of an asynchronous method after a time, 1 s unless told otherwise, with ATTEMPT_TIMEOUT. What the
 * method was doing goes on unless it watches the signal of {@link currentAttempt}.
 *
 * @throws INVALID_OPTIONS where the time is none
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Pages {
 *   @ft.Timeout(10)
 *   async load(): Promise<string> {
 *     return new Promise(() => {})
 *   }
 * }
 *
 * await new Pages().load() // throws ATTEMPT_TIMEOUT
 * ```
 */
export function Timeout(settings: Duration | TimeoutSettings = {}): AsyncMethodDecorator {
  return decorate('Timeout', typeof settings === 'object' ? settings : { value: settings })
}
