import type { BreakerOptions } from 'holdfast'
import type { BreakerEntry } from './schema.js'

/** Converts a breaker entry of the config file to options of the core. Fields that only the runtime uses are omitted. */
export function breakerEntryOptions(entry: BreakerEntry = {}): BreakerOptions {
  const { persistState: _, share: __, quorum: ___, ...options } = entry
  return options as BreakerOptions
}
