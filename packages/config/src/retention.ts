import { DAY_MS } from '@holdfast/records'
/** The default retention of records in the store. */
export const RETENTION = {
  sessions: { maxAge: 7 * DAY_MS, maxEntries: 1_000_000 },
  events: { maxAge: 7 * DAY_MS, maxEntries: 1_000_000 },
  audit: { maxAge: 365 * DAY_MS, maxEntries: 1_000_000 },
  errors: { maxAge: 14 * DAY_MS, maxEntries: 1_000_000 },
} as const
