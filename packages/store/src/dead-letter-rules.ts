import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import type { Settlement, StoredPayloads } from './dead-letter-store.js'

/** The fields that determine the status of an entry at a time. */
export interface LeaseState {
  readonly status: DeadLetterStatus
  /** When its lease expires, epoch milliseconds; 0 for none. */
  readonly leasedUntil: number
}

/** Whether an entry is leased. At the end of its lease it is not leased any more. */
export const isLeased = (entry: LeaseState, now: number): boolean =>
  entry.status === 'replaying' && entry.leasedUntil > now

/** The status of an entry at a time: with an expired lease it is `pending`. */
export const effectiveStatus = (entry: LeaseState, now: number): DeadLetterStatus =>
  entry.status === 'replaying' && !isLeased(entry, now) ? 'pending' : entry.status

/** The status and the lease of an entry. */
export const leaseStateOf = (entry: DeadLetter): LeaseState => ({
  status: entry.status,
  leasedUntil: entry.leasedUntil?.getTime() ?? 0,
})

/** The entry with its status at a time. */
export function viewAt(entry: DeadLetter, now: number): DeadLetter {
  const leaseState = leaseStateOf(entry)
  const status = effectiveStatus(leaseState, now)
  return status === entry.status ? entry : { ...entry, status, leasedUntil: null }
}

const DAY_MS = 86_400_000

/**
 * How long the id of a completed entry is kept after `max_age` has deleted the entry. A copy of the entry can wait on the disk of
 * a machine that is down, and the id shows that it must not be replayed.
 */
export const PROCESSED_ID_RETENTION_MS = 30 * DAY_MS

/** The number of the day (UTC) of a time. Processed ids are deleted by day. */
export const dayOf = (time: Date): number => Math.floor(time.getTime() / DAY_MS)

/** The start of the day of a time, epoch milliseconds. */
export const startOfDay = (time: Date): number => dayOf(time) * DAY_MS

/** When a completed entry was completed. */
export const completedAt = ({ replayedAt, lastAttempt }: DeadLetter): Date => replayedAt ?? lastAttempt

/** The later of two times, so that the times of an entry keep their order when the clock is set back. */
const latestOf = (a: Date, b: Date) => (a > b ? a : b)

export const withLease = (entry: DeadLetter, until: Date): DeadLetter => ({
  ...entry,
  status: 'replaying',
  leasedUntil: until,
})

/** The entry with other payloads, for key rotation. An edited payload that is undefined stays. */
export const withPayloads = (
  entry: DeadLetter,
  { originalPayload, editedPayload }: StoredPayloads,
): DeadLetter => ({
  ...entry,
  originalPayload,
  ...(editedPayload === undefined ? {} : { editedPayload }),
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
 * The entry after its replay has ended. An entry that was not replayed gets back the status from before its lease, and keeps its
 * replay request.
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

/** The history of an entry has at most this many failed replays, the newest, because each has a stack. The error of the call is not part of it. */
const MAX_FAILED_REPLAYS = 100

function addFailure(details: ErrorDetails, error: ErrorDetails, at: Date): ErrorDetails {
  const failure = { ...error, at: error.at ?? at }
  delete failure.history
  return { ...details, history: [...(details.history ?? []), failure].slice(-MAX_FAILED_REPLAYS) }
}
