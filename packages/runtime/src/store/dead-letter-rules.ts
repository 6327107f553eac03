import type { DeadLetter, DeadLetterStatus } from '../records/dead-letter.js'
import type { Settlement } from './store.js'

/** What decides where an entry stands at a time. */
export interface Standing {
  readonly status: DeadLetterStatus
  /** When its lease ends, epoch milliseconds; 0 for none. */
  readonly leasedUntil: number
}

/** Whether somebody holds it: a lease holds until its end, and not at it. */
export const isHeld = (entry: Standing, now: number): boolean =>
  entry.status === 'replaying' && entry.leasedUntil > now

/** What it counts as: an entry whose lease ended is `pending`. */
export const statusAt = (entry: Standing, now: number): DeadLetterStatus =>
  entry.status === 'replaying' && !isHeld(entry, now) ? 'pending' : entry.status

export const standingOf = (entry: DeadLetter): Standing => ({
  status: entry.status,
  leasedUntil: entry.leasedUntil?.getTime() ?? 0,
})

/** The entry as it is to be shown at a time. */
export function seenAt(entry: DeadLetter, now: number): DeadLetter {
  const standing = standingOf(entry)
  const status = statusAt(standing, now)
  return status === entry.status ? entry : { ...entry, status, leasedUntil: null }
}

/** The later of two times: records keep their order though the clock steps back. */
const later = (a: Date, b: Date) => (a > b ? a : b)

export const leasedTo = (entry: DeadLetter, until: Date): DeadLetter => ({
  ...entry,
  status: 'replaying',
  leasedUntil: until,
})

export function completedAt(entry: DeadLetter, at: Date, lastAttempt = entry.lastAttempt): DeadLetter {
  return {
    ...entry,
    status: 'completed',
    processed: true,
    lastAttempt,
    replayedAt: later(at, lastAttempt),
    leasedUntil: null,
    replayRequestedAt: null,
  }
}

/** Whether a replay of the entry has failed, so that only `retryFailed` or a request replays it again. */
const hasFailedReplay = ({ errorDetails }: DeadLetter): boolean => (errorDetails.history ?? []).length > 0

/**
 * An entry after its replay ended. One that was not tried has the status from before its lease, and keeps the request that it
 * was leased for.
 */
export function settledTo(entry: DeadLetter, { status, at, error }: Settlement): DeadLetter {
  if (status === 'pending')
    return { ...entry, status: hasFailedReplay(entry) ? 'failed' : 'pending', leasedUntil: null }
  const lastAttempt = later(at, entry.lastAttempt)
  if (status === 'completed') return completedAt(entry, at, lastAttempt)
  return {
    ...entry,
    status,
    lastAttempt,
    leasedUntil: null,
    replayRequestedAt: null,
    errorDetails: error === undefined ? entry.errorDetails : grown(entry.errorDetails, error, at),
  }
}

type Details = DeadLetter['errorDetails']

function grown(details: Details, error: Details, at: Date): Details {
  const failure = { ...error, at: error.at ?? at }
  delete failure.history
  return { ...details, history: [...(details.history ?? []), failure] }
}
