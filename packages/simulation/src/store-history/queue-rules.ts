import { isDeepStrictEqual } from 'node:util'
import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import type { Settlement, StoredPayloads } from '@holdfast/store'

/** An entry of a queue, as the documentation of the interface describes it. Times are epoch milliseconds. */
export interface ModelEntry {
  readonly id: string
  readonly key: string
  readonly itemId: string
  readonly operation: string
  readonly createdAt: number
  /** The order of insertion. */
  readonly order: number
  readonly payload: unknown
  readonly editedPayload: unknown
  readonly status: DeadLetterStatus
  readonly leasedUntil: number | null
  readonly owner: string | undefined
  readonly requestedAt: number | null
  readonly lastAttempt: number
  readonly replayedAt: number | null
  /** The messages and times of failed replays. */
  readonly failures: readonly (readonly [message: string, at: number])[]
}

/** The result of a change, and the entry after it. */
export interface ModelChange {
  readonly result: unknown
  readonly entry: ModelEntry | undefined
}

export const isHeld = ({ status, leasedUntil }: ModelEntry, now: number): boolean =>
  status === 'replaying' && Number(leasedUntil) > now

/** The entry as it is returned at a time: with an expired lease it is pending. */
export const viewOf = (entry: ModelEntry, now: number): ModelEntry =>
  entry.status === 'replaying' && !isHeld(entry, now)
    ? { ...entry, status: 'pending', leasedUntil: null }
    : entry

/** The fields of an entry that can be read. */
export const visibleFields = ({ order: _order, owner: _owner, ...visible }: ModelEntry) => visible

/** The same fields of an entry of a store. */
export const readFields = (entry: DeadLetter): ReturnType<typeof visibleFields> => ({
  id: entry.dlqId,
  key: entry.idempotencyKey,
  itemId: entry.itemId,
  operation: entry.operationType,
  createdAt: entry.createdAt.getTime(),
  payload: entry.originalPayload,
  editedPayload: entry.editedPayload ?? null,
  status: entry.status,
  leasedUntil: entry.leasedUntil?.getTime() ?? null,
  requestedAt: entry.replayRequestedAt?.getTime() ?? null,
  lastAttempt: entry.lastAttempt.getTime(),
  replayedAt: entry.replayedAt?.getTime() ?? null,
  failures: (entry.errorDetails.history ?? []).map(
    ({ errorMessage, at }) => [errorMessage, at?.getTime() ?? 0] as const,
  ),
})

const unchanged = (entry: ModelEntry | undefined, result: unknown): ModelChange => ({ result, entry })

export function lease(entry: ModelEntry | undefined, owner: string, until: number, now: number): ModelChange {
  if (entry === undefined) return unchanged(entry, { result: 'missing' })
  if (entry.status === 'completed') return unchanged(entry, { result: 'done', entry: visibleFields(entry) })
  if (isHeld(entry, now)) return unchanged(entry, { result: 'held', until: entry.leasedUntil })
  const leased = withLease(entry, owner, until)
  return { result: { result: 'leased', entry: visibleFields(leased) }, entry: leased }
}

export const withLease = (entry: ModelEntry, owner: string, until: number): ModelEntry => ({
  ...entry,
  status: 'replaying',
  owner,
  leasedUntil: until,
})

export function renew(entry: ModelEntry | undefined, owner: string, until: number, now: number): ModelChange {
  if (entry === undefined || !isHeld(entry, now) || entry.owner !== owner) return unchanged(entry, false)
  return { result: true, entry: { ...entry, leasedUntil: until } }
}

const asCompleted = (entry: ModelEntry, at: number, lastAttempt: number): ModelEntry => ({
  ...entry,
  status: 'completed',
  leasedUntil: null,
  owner: undefined,
  requestedAt: null,
  lastAttempt,
  replayedAt: Math.max(at, lastAttempt),
})

export function settle(entry: ModelEntry | undefined, owner: string, settlement: Settlement): ModelChange {
  const at = settlement.at.getTime()
  if (entry === undefined || entry.status === 'completed') return unchanged(entry, undefined)
  const isHolder = isHeld(entry, at) && entry.owner === owner
  if (!isHolder && settlement.status !== 'completed') return unchanged(entry, undefined)
  const settled = settledEntry(entry, settlement, at)
  return { result: visibleFields(settled), entry: settled }
}

function settledEntry(entry: ModelEntry, { status, error }: Settlement, at: number): ModelEntry {
  const free = { ...entry, leasedUntil: null, owner: undefined }
  if (status === 'pending') return { ...free, status: entry.failures.length > 0 ? 'failed' : 'pending' }
  const lastAttempt = Math.max(at, entry.lastAttempt)
  if (status === 'completed') return asCompleted(entry, at, lastAttempt)
  const failure = error === undefined ? [] : [[error.errorMessage, at] as const]
  return {
    ...free,
    status,
    lastAttempt,
    requestedAt: null,
    failures: [...entry.failures, ...failure],
  }
}

export function complete(entry: ModelEntry | undefined, at: number): ModelChange {
  if (entry === undefined) return unchanged(entry, undefined)
  const completed = entry.status === 'completed' ? entry : asCompleted(entry, at, entry.lastAttempt)
  return { result: visibleFields(completed), entry: completed }
}

export function request(entry: ModelEntry | undefined, at: number): ModelChange {
  if (entry === undefined) return unchanged(entry, undefined)
  const requested = entry.status === 'completed' ? entry : { ...entry, requestedAt: at }
  return { result: visibleFields(requested), entry: requested }
}

export function edit(entry: ModelEntry | undefined, editedPayload: unknown, now: number): ModelChange {
  if (entry === undefined) return unchanged(entry, { result: 'missing' })
  if (entry.status === 'completed') return unchanged(entry, { result: 'done', entry: visibleFields(entry) })
  if (isHeld(entry, now)) return unchanged(entry, { result: 'held', until: entry.leasedUntil })
  const edited = { ...entry, editedPayload }
  return { result: { result: 'edited', entry: visibleFields(viewOf(edited, now)) }, entry: edited }
}

/** @param read - the entry whose payloads the caller has read */
export function rewrite(
  entry: ModelEntry | undefined,
  read: ModelEntry,
  { originalPayload: payload, editedPayload = read.editedPayload }: StoredPayloads,
): ModelChange {
  if (entry === undefined) return unchanged(entry, undefined)
  const stored = [entry.payload, entry.editedPayload]
  // The process that makes the call a second time finds its own payloads.
  if (isDeepStrictEqual(stored, [payload, editedPayload])) return unchanged(entry, true)
  if (!isDeepStrictEqual(stored, [read.payload, read.editedPayload])) return unchanged(entry, false)
  return { result: true, entry: { ...entry, payload, editedPayload } }
}
