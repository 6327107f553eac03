import { DEAD_LETTER_STATUSES, type DeadLetter, type DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterSelector, DeadLetterStore } from '@holdfast/store'
import type { DeadLetterSelection } from './filter.js'
import type { PayloadCipher } from './payload-cipher.js'
import { searchEntries, TextMatcher } from './search.js'

/** Whether a store finds the selected entries without reading their payloads. */
export const isIndexed = ({ search, ids }: DeadLetterSelection): boolean =>
  search === undefined && ids === undefined

/** The fields of a selection by which a store finds entries. */
export const toSelector = ({
  operation,
  status,
  itemId,
  from,
  to,
}: DeadLetterSelection): DeadLetterSelector => ({ operation, status, itemId, from, to })

function matchesSelector(entry: DeadLetter, selection: DeadLetterSelection): boolean {
  const { operation, status, itemId, from, to } = selection
  return (
    (operation === undefined || entry.operationType === operation) &&
    (status === undefined || [status].flat().includes(entry.status)) &&
    (itemId === undefined || entry.itemId === itemId) &&
    (from === undefined || entry.createdAt >= from) &&
    (to === undefined || entry.createdAt < to)
  )
}

/** The selected entries of a selection with ids or a text; with ids in their order, else oldest first. */
export async function* selectEntries(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  selection: DeadLetterSelection,
  now: Date,
): AsyncGenerator<DeadLetter> {
  const { ids, search } = selection
  if (ids === undefined) {
    yield* searchEntries(store, cipher, toSelector(selection), search ?? '', now)
    return
  }
  const matcher = search === undefined ? undefined : new TextMatcher(cipher, search)
  for (const id of new Set(ids)) {
    const entry = await store.get(id, now)
    if (entry === undefined || !matchesSelector(entry, selection)) continue
    if (matcher === undefined || (await matcher.matches(entry))) yield entry
  }
}

/** Counts the selected entries with each status. */
export async function countEntries(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  selection: DeadLetterSelection,
  now: Date,
): Promise<Record<DeadLetterStatus, number>> {
  if (isIndexed(selection)) return store.count(toSelector(selection), now)
  const counts = Object.fromEntries(DEAD_LETTER_STATUSES.map((status) => [status, 0])) as Record<
    DeadLetterStatus,
    number
  >
  for await (const { status } of selectEntries(store, cipher, selection, now)) counts[status]++
  return counts
}
