import { classify } from '../classify/index.js'
import type { BreakerSettings } from './options.js'

/** Whether an error counts as a failure of the target. By default transient and critical errors do, except rate limits. */
export function isCountedFailure(
  settings: BreakerSettings | undefined,
  error: unknown,
  classification = classify(error),
): boolean {
  return settings?.matchesFailureOn
    ? settings.matchesFailureOn(error, classification)
    : classification.category !== 'permanent' && classification.kind !== 'rate_limited'
}
