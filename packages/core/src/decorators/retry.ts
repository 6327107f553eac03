import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { RetrySettings } from './settings/retry.js'

/**
 * Retries an asynchronous method when it fails: by default at most 3 times, without delay except for up to 200 ms of jitter,
 * within 180 s. Permanent errors are not retried; see {@link RetrySettings}.
 *
 * @throws INVALID_OPTIONS that lists all problems of the settings
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Graph {
 *   attempts = 0
 *
 *   @ft.Retry({ maxRetries: 3, delay: 5, jitter: 1, abortOn: ['sql:23'] })
 *   async upsert(id: string): Promise<string> {
 *     if (++this.attempts < 3) throw new Error('connection lost')
 *     return id
 *   }
 * }
 *
 * const graph = new Graph()
 * await graph.upsert('n1') // => 'n1'
 * graph.attempts // => 3
 * ```
 */
export function Retry(settings: RetrySettings = {}): AsyncMethodDecorator {
  return decorate('Retry', settings)
}
