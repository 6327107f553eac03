import { classify } from '../classify/index.js'
import type { BreakerSettings } from './options.js'

/** Whether an error counts against the target: transient and critical ones do, rate limits and the rest do not. */
export function counts(
  settings: BreakerSettings | undefined,
  error: unknown,
  known = classify(error),
): boolean {
  return settings?.counted
    ? settings.counted(error, known)
    : known.category !== 'permanent' && known.kind !== 'rate_limited'
}
