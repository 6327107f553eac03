import type { Duration } from '../../duration.js'
import { durationOrInfinity, type OptionSpecOf } from '../../options.js'

/** The time limit of each attempt of a method. */
export interface TimeoutSettings {
  /** The time limit of one attempt; Infinity means none. @defaultValue 1000 */

  value?: Duration | undefined
}

export const TIMEOUT_SPEC = { value: [1000, durationOrInfinity] } satisfies OptionSpecOf<TimeoutSettings>
