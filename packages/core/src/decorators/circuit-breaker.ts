import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { CircuitBreakerSettings } from './settings/circuit-breaker.js'

/**
 * Gives an asynchronous method a circuit breaker, one for all instances of its class. By the defaults of MicroProfile it
 * opens for 5 s when half of the calls of the last minute failed, of at least 20.
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
