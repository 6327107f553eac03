import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { BulkheadSettings } from './settings/bulkhead.js'

/**
 * Limits how many calls of an asynchronous method run at the same time, over all instances of its class, and how many wait:
 * by default 10 each. Each attempt acquires a slot; when the queue is full it fails with BULKHEAD_FULL.
 *
 * @throws INVALID_OPTIONS that lists all problems of the settings
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Reports {
 *   @ft.Bulkhead({ value: 1, waitingTaskQueue: 0 })
 *   async build(name: string): Promise<string> {
 *     return name
 *   }
 * }
 *
 * const reports = new Reports()
 * const [first, second] = await Promise.allSettled([reports.build('a'), reports.build('b')])
 * first?.status // => 'fulfilled'
 * second?.status // => 'rejected'
 * ```
 */
export function Bulkhead(settings: number | BulkheadSettings = {}): AsyncMethodDecorator {
  return decorate('Bulkhead', typeof settings === 'number' ? { value: settings } : settings)
}
