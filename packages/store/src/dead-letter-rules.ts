import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import type { Settlement } from './store.js'

/** What decides where an entry stands at a time. */
export interface LeaseState {
  readonly status: DeadLetterStatus
  /** When its lease ends, epoch milliseconds; 0 for none. */
  readonly leasedUntil: number
}

/** Whether somebody holds it: a lease holds until its end, and not at it. */
export const isLeased = (entry: LeaseState, now: number): boolean =>
  entry.status === 'replaying' && entry.leasedUntil > now

/** What it counts as: an entry whose lease ended is `pending`. */
export const effectiveStatus = (entry: LeaseState, now: number): DeadLetterStatus =>
  entry.status === 'replaying' && !isLeased(entry, now) ? 'pending' : entry.status

export const leaseStateOf = (entry: DeadLetter): LeaseState => ({
  status: entry.status,
  leasedUntil: entry.leasedUntil?.getTime() ?? 0,
})

/** The entry as it is to be shown at a time. */
export function viewAt(entry: DeadLetter, now: number): DeadLetter {
  const leaseState = leaseStateOf(entry)
  const status = effectiveStatus(leaseState, now)
  return status === entry.status ? entry : { ...entry, status, leasedUntil: null }
}

/** The later of two times: records keep their order though the clock steps back. */
const latestOf = (a: Date, b: Date) => (a > b ? a : b)

export const withLease = (entry: DeadLetter, until: Date): DeadLetter => ({
  ...entry,
  status: 'replaying',
  leasedUntil: until,
})

export function asCompleted(entry: DeadLetter, at: Date, lastAttempt = entry.lastAttempt): DeadLetter {
  return {
    ...entry,
    status: 'completed',
    processed: true,
    lastAttempt,
    replayedAt: latestOf(at, lastAttempt),
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
export function asSettled(entry: DeadLetter, { status, at, error }: Settlement): DeadLetter {
  if (status === 'pending')
    return { ...entry, status: hasFailedReplay(entry) ? 'failed' : 'pending', leasedUntil: null }
  const lastAttempt = latestOf(at, entry.lastAttempt)
  if (status === 'completed') return asCompleted(entry, at, lastAttempt)
  return {
    ...entry,
    status,
    lastAttempt,
    leasedUntil: null,
    replayRequestedAt: null,
    errorDetails: error === undefined ? entry.errorDetails : addFailure(entry.errorDetails, error, at),
  }
}

type ErrorDetails = DeadLetter['errorDetails']

function addFailure(details: ErrorDetails, error: ErrorDetails, at: Date): ErrorDetails {
  const failure = { ...error, at: error.at ?? at }
  delete failure.history
  return { ...details, history: [...(details.history ?? []), failure] }
}
