import { classify } from '../classify/index.js'
import type { BreakerSettings } from './options.js'

/** Whether an error counts against the target: transient and critical ones do, rate limits and the rest do not. */
export function isCountedFailure(
  settings: BreakerSettings | undefined,
  error: unknown,
  classification = classify(error),
): boolean {
  return settings?.matchesFailureOn
    ? settings.matchesFailureOn(error, classification)
    : classification.category !== 'permanent' && classification.kind !== 'rate_limited'
}
