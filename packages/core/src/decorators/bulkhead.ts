import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { BulkheadSettings } from './settings/bulkhead.js'

/**
 * Lets so many calls of an asynchronous method run at a time, over all objects of its class, and so many wait: 10 and 10
 * unless told otherwise. Each attempt asks for a place; one that finds no room fails with BULKHEAD_FULL.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the settings
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
