import type { DeadLetterStatus } from '@holdfast/records'
import type { Choices } from '../engine/seeded-random.js'
import { isHeld, type ModelEntry, viewOf } from './queue-rules.js'

export const OPERATIONS = ['mail', 'search/index', 'Mail'] as const
export const ITEMS = ['item-0', 'item-1', 'item-2'] as const
const STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** A filter of entries, in the form of the interface. */
export interface EntryFilter {
  readonly operation?: string
  readonly status?: DeadLetterStatus | readonly DeadLetterStatus[]
  readonly itemId?: string
  readonly from?: Date
  readonly to?: Date
}

/** Chooses a filter. Times are those of entries, because mistakes are most likely at the limits. */
export function planFilter(choices: Choices, entries: readonly ModelEntry[]): EntryFilter {
  const time = () => new Date((choices.pick(entries)?.createdAt ?? 0) + choices.pick([-1, 0, 0, 1]))
  const status = choices.chance(0.5) ? choices.pick(STATUSES) : STATUSES.filter(() => choices.chance(0.5))
  return {
    ...(choices.chance(0.3) && { operation: choices.pick(OPERATIONS) }),
    ...(choices.chance(0.4) && { status }),
    ...(choices.chance(0.3) && { itemId: choices.pick(ITEMS) }),
    ...(entries.length > 0 && choices.chance(0.3) && { from: time() }),
    ...(entries.length > 0 && choices.chance(0.3) && { to: time() }),
  }
}

/** The entries that match a filter at a time, oldest first. */
export function selectEntries(
  entries: readonly ModelEntry[],
  { operation, status, itemId, from, to }: EntryFilter,
  now: number,
): ModelEntry[] {
  const statuses: readonly string[] = typeof status === 'string' ? [status] : (status ?? STATUSES)
  return entries
    .filter(
      (entry) =>
        (operation === undefined || entry.operation === operation) &&
        statuses.includes(viewOf(entry, now).status) &&
        (itemId === undefined || entry.itemId === itemId) &&
        (from === undefined || entry.createdAt >= from.getTime()) &&
        (to === undefined || entry.createdAt < to.getTime()),
    )
    .toSorted((a, b) => a.createdAt - b.createdAt || a.order - b.order)
}

/** The number of entries with each status at a time. */
export function countStatuses(entries: readonly ModelEntry[], now: number): Record<DeadLetterStatus, number> {
  const counts = { pending: 0, replaying: 0, completed: 0, failed: 0 }
  for (const entry of entries) counts[viewOf(entry, now).status]++
  return counts
}

/** The statistics of a queue at a time. */
export function statsOf(entries: readonly ModelEntry[], now: number) {
  const byOperation = Object.fromEntries(
    [...new Set(entries.map(({ operation }) => operation))].map((operation) => [
      operation,
      countStatuses(
        entries.filter((entry) => entry.operation === operation),
        now,
      ),
    ]),
  )
  const open = entries.filter(({ status }) => status !== 'completed')
  return {
    total: entries.length,
    byStatus: countStatuses(entries, now),
    byOperation,
    ...(open.length > 0 && { oldest: new Date(Math.min(...open.map(({ createdAt }) => createdAt))) }),
  }
}

/** The entries that a lease of the next ones gets. */
export function selectNext(
  entries: readonly ModelEntry[],
  want: {
    readonly operations?: readonly string[]
    readonly statuses: readonly ('pending' | 'failed')[]
    readonly itemId?: string
    readonly from?: Date
    readonly to?: Date
    readonly requested?: boolean
    readonly limit: number
    readonly ids?: readonly string[]
    readonly except?: ReadonlySet<string>
  },
  now: number,
): ModelEntry[] {
  const { operations, statuses, itemId, from, to, requested, limit, ids, except } = want
  const filter = {
    status: statuses,
    ...(itemId !== undefined && { itemId }),
    ...(from && { from }),
    ...(to && { to }),
  }
  return selectEntries(entries, filter, now)
    .filter(
      (entry) =>
        !isHeld(entry, now) &&
        (operations === undefined || operations.includes(entry.operation)) &&
        (requested !== true || entry.requestedAt !== null) &&
        (ids === undefined || ids.includes(entry.id)) &&
        except?.has(entry.id) !== true,
    )
    .slice(0, limit)
}
