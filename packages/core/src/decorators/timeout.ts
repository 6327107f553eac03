import type { Duration } from '../duration.js'
import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { TimeoutSettings } from './settings/timeout.js'

/**
 * Ends each attempt of an asynchronous method after a time, by default 1 s, with ATTEMPT_TIMEOUT. The method itself continues
 * to run unless it observes the signal of {@link currentAttempt}.
 *
 * @throws INVALID_OPTIONS if the duration is invalid
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
