// Converts events to log lines with a level.
import type { GuardEvent } from 'holdfast'

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn'
  readonly operation: string
  /** The number of retries so far, or of the scheduled one. */
  readonly retryAttempt: number
  readonly text: string
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The line for an event; undefined for an event that another line covers. */
export function lineOf(event: GuardEvent): LogLine | undefined {
  if (event.type === 'breaker_changed' || event.type === 'attempt_failed') return undefined
  const operation = event.name ?? 'a method'
  const retries = event.attempt - 1
  const line = (level: LogLine['level'], text: string): LogLine => ({
    level,
    operation,
    retryAttempt: retries,
    text,
  })
  switch (event.type) {
    case 'succeeded':
      if (retries === 0) return line('debug', `${operation} succeeded, no retry needed`)
      return line('info', `${operation} succeeded after ${counted(retries, 'retry attempt')}`)
    case 'retry_scheduled': {
      const { maxAttempts, delay, error } = event
      const wait = `${Math.round(delay)} ms`
      return line('info', `${operation}: retry ${retries} of ${maxAttempts - 1} in ${wait}: ${reason(error)}`)
    }
    case 'gave_up':
      return line(
        'warn',
        `${operation} gave up after ${counted(event.attempt, 'attempt')}: ${reason(event.error)}`,
      )
  }
}
