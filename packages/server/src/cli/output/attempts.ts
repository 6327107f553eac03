import type { Io } from '../io.js'
import { table } from './table.js'
import { span } from './text.js'

/** An attempt as the API tells it. */
export interface Attempt {
  attempt_number: number
  outcome: string
  delay: number
  duration: number
  status_code?: number | null
  proxy_id?: string | null
  error?: { type: string; message: string } | null
}

/** A line for each attempt of a call. */
export const attemptTable = (io: Io, attempts: readonly Attempt[]): string =>
  table(
    io,
    ['attempt', 'waited', 'took', 'outcome', 'status', 'member', 'error'],
    attempts.map((attempt) => [
      attempt.attempt_number,
      span(attempt.delay),
      span(attempt.duration),
      attempt.outcome,
      attempt.status_code,
      attempt.proxy_id,
      attempt.error ? `${attempt.error.type}: ${attempt.error.message}` : null,
    ]),
  )
