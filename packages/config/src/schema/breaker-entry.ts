import type { BreakerOptions } from 'holdfast'
import type { BreakerEntry } from './schema.js'

/** The options of the breaker that an entry of the config file describes. Fields that only the runtime uses are left out. */
export function breakerEntryOptions(entry: BreakerEntry = {}): BreakerOptions {
  const { persistState: _, share: __, quorum: ___, ...options } = entry
  return options as BreakerOptions
}
