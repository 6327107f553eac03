import { getJson } from '../../api/client.js'
import type { WireAudit, WireBreaker, WireOperations, WirePage, WireSession } from '../../api/types.js'

/** A failed attempt that a breaker counted, or could have counted. */
export interface OpeningError {
  readonly at: string
  readonly operation: string
  readonly sessionId: string
  readonly type: string
  readonly message: string
  readonly status: number | undefined
}

export type AffectedOperation = WireOperations['operations'][number]

/** How many operations are searched for errors, and how many of their sessions. */
const MAX_OPERATIONS = 5
const MAX_SESSIONS = '20'

/** How many errors are shown. */
const MAX_ERRORS = 10

/** Records can be written shortly after the breaker has opened, and a trip is recorded after it. */
const TOLERANCE_MS = 2000

/** The pool member of a breaker with the id `pool:POOL:MEMBER`; undefined for every other breaker. */
const memberOf = ({ proxy_id }: WireBreaker): string | undefined => proxy_id ?? undefined

/** The operations whose calls must pass a breaker. */
export const affectedOperations = (
  id: string,
  { operations }: WireOperations,
): readonly AffectedOperation[] =>
  operations.filter(({ breakers }) =>
    breakers.some((breaker) => breaker === id || (id.startsWith('pool:') && id.startsWith(`${breaker}:`))),
  )

/** The failed attempts of a session until a time; for the breaker of a pool member, those with this member. */
function failedAttempts(
  { session_id, operation, attempts }: WireSession,
  member: string | undefined,
  until: number,
): OpeningError[] {
  return attempts.flatMap(({ timestamp, outcome, error, proxy_id, status_code }) =>
    (outcome === 'failure' || outcome === 'timeout') &&
    Date.parse(timestamp) <= until &&
    (member === undefined || proxy_id === member)
      ? [
          {
            at: timestamp,
            operation,
            sessionId: session_id,
            type: error?.type ?? outcome,
            message: error?.message ?? '',
            status: status_code ?? undefined,
          },
        ]
      : [],
  )
}

/** Loads the last failed attempts of the affected operations before a breaker opened, newest first. */
export async function loadOpeningErrors(
  breaker: WireBreaker,
  operations: readonly AffectedOperation[],
  signal: AbortSignal,
): Promise<OpeningError[]> {
  if (breaker.open_timestamp == null) return []
  const until = Date.parse(breaker.open_timestamp) + TOLERANCE_MS
  const pages = await Promise.all(
    operations
      .slice(0, MAX_OPERATIONS)
      .map(({ operation }) =>
        getJson<WirePage<WireSession>>(
          '/sessions',
          { operation, to: new Date(until).toISOString(), limit: MAX_SESSIONS },
          signal,
        ),
      ),
  )
  return pages
    .flatMap(({ items }) => items)
    .flatMap((session) => failedAttempts(session, memberOf(breaker), until))
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, MAX_ERRORS)
}

/** Loads who tripped an open breaker; undefined where failures opened it. */
export async function loadTrip(breaker: WireBreaker, signal: AbortSignal): Promise<WireAudit | undefined> {
  const { items } = await getJson<WirePage<WireAudit>>(
    '/audit',
    { target: breaker.id, action: 'breaker.trip', limit: '1' },
    signal,
  )
  const [trip] = items
  if (trip === undefined || breaker.state !== 'open' || breaker.open_timestamp == null) return undefined
  // A breaker that was open already can be tripped later: its opening is not newer than the trip.
  return Date.parse(trip.timestamp) >= Date.parse(breaker.open_timestamp) - TOLERANCE_MS ? trip : undefined
}
