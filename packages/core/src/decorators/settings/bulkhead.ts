import { nonNegativeInteger, type OptionSpecOf, positiveInteger } from '../../options.js'

/** How many calls of a method can run at the same time. */
export interface BulkheadSettings {
  /** The number of calls that can run. @defaultValue 10 */
  value?: number | undefined
  /** The number of calls that can wait for a slot; further ones are rejected with BULKHEAD_FULL. @defaultValue 10 */
  waitingTaskQueue?: number | undefined
}

export const BULKHEAD_SPEC = {
  value: [10, positiveInteger],
  waitingTaskQueue: [10, nonNegativeInteger],
} satisfies OptionSpecOf<BulkheadSettings>
