import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { CircuitBreakerSettings } from './settings/circuit-breaker.js'

/**
 * Gives an asynchronous method a circuit breaker, one for all instances of its class. With the
 * defaults of MicroProfile, it opens for 5 s if at least 20 calls were made in the last minute and half of them failed.
 *
 * @throws INVALID_OPTIONS that lists all problems of the settings
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Mail {
 *   @ft.CircuitBreaker({ failureThreshold: 2, delay: '1m' })
 *   async send(): Promise<void> {
 *     throw new Error('connection refused')
 *   }
 * }
 *
 * const mail = new Mail()
 * await mail.send() // throws Error
 * await mail.send() // throws Error
 * await mail.send() // throws CIRCUIT_OPEN
 * ```
 */
export function CircuitBreaker(settings: CircuitBreakerSettings = {}): AsyncMethodDecorator {
  return decorate('CircuitBreaker', settings)
}
