/** The advisory locks of a schema. Numbers never change, because old and new releases run side by side. */
export const LOCKS = {
  migrations: 1,
  /** Shared by inserts far below the limit of entries, exclusive for inserts that must count the entries. */
  adds: 2,
  sessions: 10,
  events: 11,
  errors: 12,
  audit: 13,
  breaker_events: 14,
} as const
