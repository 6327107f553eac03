import type { CommandIo } from '../context/io.js'
import { formatTable } from './table.js'
import { formatSeconds } from './text.js'

/** An attempt as the API tells it. */
export interface WireAttempt {
  attempt_number: number
  outcome: string
  delay: number
  duration: number
  status_code?: number | null
  proxy_id?: string | null
  error?: { type: string; message: string } | null
}

/** A line for each attempt of a call. */
export const formatAttempts = (io: CommandIo, attempts: readonly WireAttempt[]): string =>
  formatTable(
    io,
    ['attempt', 'waited', 'took', 'outcome', 'status', 'member', 'error'],
    attempts.map((attempt) => [
      attempt.attempt_number,
      formatSeconds(attempt.delay),
      formatSeconds(attempt.duration),
      attempt.outcome,
      attempt.status_code,
      attempt.proxy_id,
      attempt.error ? `${attempt.error.type}: ${attempt.error.message}` : null,
    ]),
  )
