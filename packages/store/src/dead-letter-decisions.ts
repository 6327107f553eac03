import type { DeadLetter } from '@holdfast/records'
import {
  asCompleted,
  asSettled,
  isLeased,
  leaseStateOf,
  viewAt,
  withLease,
  withPayloads,
} from './dead-letter-rules.js'
import type {
  Added,
  DeadLetterStore,
  Edited,
  Leased,
  Settlement,
  StoredPayloads,
} from './dead-letter-store.js'
import { isSamePayload } from './payload.js'

/** A stored entry with the owner of its lease. */
interface OwnedEntry {
  readonly entry: DeadLetter
  readonly owner: string | null | undefined
}

/** A decision about an entry. Without an `entry` nothing changes. Without an `owner` the entry is not leased any more. */
interface EntryChange<R> {
  readonly result: R
  readonly entry?: DeadLetter
  readonly owner?: string | null | undefined
}

/** Decides about an entry from its stored state, which must not change meanwhile; undefined if the entry does not exist. */
export type DecideChange<R> = (stored: OwnedEntry | undefined) => EntryChange<R>

const isHeldBy = ({ entry, owner }: OwnedEntry, expected: string, now: Date): boolean =>
  owner === expected && isLeased(leaseStateOf(entry), now.getTime())

/** The result of adding an entry whose id or idempotency key exists already. */
export const toDuplicate = (existing: DeadLetter, added: DeadLetter): Added => ({
  result: isSamePayload(existing.originalPayload, added.originalPayload) ? 'known' : 'conflict',
  entry: existing,
})

const decideLease =
  (owner: string, until: Date, now: Date): DecideChange<Leased> =>
  (stored) => {
    if (stored === undefined) return { result: { result: 'missing' } }
    if (stored.entry.status === 'completed') return { result: { result: 'done', entry: stored.entry } }
    const leaseState = leaseStateOf(stored.entry)
    if (isLeased(leaseState, now.getTime()))
      return { result: { result: 'held', until: new Date(leaseState.leasedUntil) } }
    const entry = withLease(stored.entry, until)
    return { result: { result: 'leased', entry }, entry, owner }
  }

const decideRenewal =
  (owner: string, until: Date, now: Date): DecideChange<boolean> =>
  (stored) =>
    stored === undefined || !isHeldBy(stored, owner, now)
      ? { result: false }
      : { result: true, entry: withLease(stored.entry, until), owner }

/** A late result is accepted only if it is `completed`. */
const decideSettlement =
  (owner: string, settlement: Settlement): DecideChange<DeadLetter | undefined> =>
  (stored) => {
    if (stored === undefined || stored.entry.status === 'completed') return { result: undefined }
    if (settlement.status !== 'completed' && !isHeldBy(stored, owner, settlement.at))
      return { result: undefined }
    const entry = asSettled(stored.entry, settlement)
    return { result: entry, entry }
  }

const decideCompletion =
  (at: Date): DecideChange<DeadLetter | undefined> =>
  (stored) => {
    if (stored === undefined || stored.entry.status === 'completed') return { result: stored?.entry }
    const entry = asCompleted(stored.entry, at)
    return { result: entry, entry }
  }

const decideRequest =
  (at: Date): DecideChange<DeadLetter | undefined> =>
  (stored) => {
    if (stored === undefined || stored.entry.status === 'completed') return { result: stored?.entry }
    const entry = { ...stored.entry, replayRequestedAt: at }
    return { result: entry, entry, owner: stored.owner }
  }

const decideEdit =
  (editedPayload: unknown, now: Date): DecideChange<Edited> =>
  (stored) => {
    if (stored === undefined) return { result: { result: 'missing' } }
    if (stored.entry.status === 'completed') return { result: { result: 'done', entry: stored.entry } }
    const leaseState = leaseStateOf(stored.entry)
    if (isLeased(leaseState, now.getTime()))
      return { result: { result: 'held', until: new Date(leaseState.leasedUntil) } }
    const entry = { ...stored.entry, editedPayload }
    return { result: { result: 'edited', entry: viewAt(entry, now.getTime()) }, entry, owner: stored.owner }
  }

/** The payloads of an entry that has been rewritten: an edited payload that is undefined stays. */
const payloadsAfter = (read: StoredPayloads, { originalPayload, editedPayload }: StoredPayloads) => ({
  originalPayload,
  editedPayload: editedPayload === undefined ? read.editedPayload : editedPayload,
})

const hasPayloads = (entry: DeadLetter, { originalPayload, editedPayload }: StoredPayloads): boolean =>
  isSamePayload(entry.originalPayload, originalPayload) &&
  isSamePayload(entry.editedPayload ?? null, editedPayload ?? null)

/** A call that is repeated, because the response to the first one was lost, finds the payloads that the first one has written. */
const decideRewrite =
  (read: StoredPayloads, written: StoredPayloads): DecideChange<boolean | undefined> =>
  (stored) => {
    if (stored === undefined) return { result: undefined }
    if (hasPayloads(stored.entry, payloadsAfter(read, written))) return { result: true }
    if (!hasPayloads(stored.entry, read)) return { result: false }
    return { result: true, entry: withPayloads(stored.entry, written), owner: stored.owner }
  }

/** Changes an entry by a decision about its stored state, and returns the result of the decision. */
type ChangeEntry = <R>(id: string, decide: DecideChange<R>) => Promise<R>

/** The methods of a queue that change one entry. */
type EntryChanges = Pick<
  DeadLetterStore,
  'lease' | 'renew' | 'settle' | 'complete' | 'request' | 'edit' | 'rewrite'
>

/**
 * Creates the methods of a queue that change one entry. A backend supplies how an entry is read and replaced, and nothing else:
 * the decisions are the same in all of them.
 *
 * @param endLease - `change` for the end of a lease, for a backend that remembers leased entries
 */
export const createEntryChanges = (change: ChangeEntry, endLease: ChangeEntry = change): EntryChanges => ({
  lease: (id, owner, until, now) => change(id, decideLease(owner, until, now)),
  renew: (id, owner, until, now) => change(id, decideRenewal(owner, until, now)),
  settle: (id, owner, settlement) => endLease(id, decideSettlement(owner, settlement)),
  complete: (id, at) => change(id, decideCompletion(at)),
  request: (id, at) => change(id, decideRequest(at)),
  edit: (id, editedPayload, now) => change(id, decideEdit(editedPayload, now)),
  rewrite: (id, read, written) => change(id, decideRewrite(read, written)),
})
