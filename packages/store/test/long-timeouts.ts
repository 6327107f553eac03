/**
 * Timeouts of a PostgreSQL store that end only what hangs. With those of production a statement can be canceled, or a dead letter be
 * written to the disk fallback, because another process uses the processor.
 */
export const LONG_TIMEOUTS = {
  addTimeout: 100_000,
  statementTimeout: 100_000,
  connectTimeout: 100_000,
  closeTimeout: 100_000,
} as const
