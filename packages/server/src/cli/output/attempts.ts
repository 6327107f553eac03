import type { WireAttempt } from '../../wire-types.js'
import type { CommandIo } from '../context/io.js'
import { formatTable } from './table.js'
import { formatSeconds } from './text.js'

/** Formats the attempts of a call as a table. */
export const formatAttempts = (io: CommandIo, attempts: readonly WireAttempt[]): string =>
  formatTable(
    io,
    ['attempt', 'delay', 'duration', 'outcome', 'status', 'member', 'error'],
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
