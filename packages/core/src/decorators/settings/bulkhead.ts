import { nonNegativeInteger, type OptionSpecOf, positiveInteger } from '../../options.js'

/** How many calls of a method may run at a time. */
export interface BulkheadSettings {
  /** The calls that may run. @defaultValue 10 */
  value?: number | undefined
  /** The calls that may wait for one to end; more are refused with BULKHEAD_FULL. @defaultValue 10 */
  waitingTaskQueue?: number | undefined
}

export const BULKHEAD_SPEC = {
  value: [10, positiveInteger],
  waitingTaskQueue: [10, nonNegativeInteger],
} satisfies OptionSpecOf<BulkheadSettings>
