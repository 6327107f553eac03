import type { Duration } from '../../duration.js'
import { durationOrInfinity, type OptionSpecOf } from '../../options.js'

/** How long each try of a method may take. */
export interface TimeoutSettings {
  /** The time of one try; Infinity means none. @defaultValue 1000 */
  value?: Duration | undefined
}

export const TIMEOUT_SPEC = { value: [1000, durationOrInfinity] } satisfies OptionSpecOf<TimeoutSettings>
