/** What is locked among all who share a schema. Never renumbered: old and new programs run side by side. */
export const LOCKS = {
  migrations: 1,
  /** Shared by those who add while there is room for all, held alone by those who must count. */
  adds: 2,
  sessions: 10,
  events: 11,
  errors: 12,
  audit: 13,
  breaker_events: 14,
} as const
