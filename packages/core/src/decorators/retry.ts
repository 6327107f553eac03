import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { RetrySettings } from './settings/retry.js'

/**
 * Tries an asynchronous method again when it fails: at most 3 times, at once but for up to 200 ms of chance, within 180 s,
 * unless told otherwise. Errors that cannot go away are not retried; see {@link RetrySettings}.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the settings
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Graph {
 *   tries = 0
 *
 *   @ft.Retry({ maxRetries: 3, delay: 5, jitter: 1, abortOn: ['sql:23'] })
 *   async upsert(id: string): Promise<string> {
 *     if (++this.tries < 3) throw new Error('connection lost')
 *     return id
 *   }
 * }
 *
 * const graph = new Graph()
 * await graph.upsert('n1') // => 'n1'
 * graph.tries // => 3
 * ```
 */
export function Retry(settings: RetrySettings = {}): AsyncMethodDecorator {
  return decorate('Retry', settings)
}
