/** The fields that identify records, by which the same item is found in two responses. */
const ID_FIELDS = ['id', 'dlq_id', 'event_id', 'audit_id']

/** The id of an item: the first of its id fields, else the whole item. */
export function idOf(item: object): string {
  const fields = item as Record<string, unknown>
  // Errors and dead letters refer to a session too, and several can refer to the same one.
  const isSession = 'attempts' in item
  const field = isSession ? 'session_id' : ID_FIELDS.find((name) => typeof fields[name] === 'string')
  return field === undefined ? JSON.stringify(item) : (fields[field] as string)
}

/**
 * Compares the shown items with the newest first page: shown items that are in it are updated, the others stay, and new ones
 * are counted. Where no shown item is in it, there can be more new items than one page has.
 */
export function mergeFirstPage<T extends object>(
  shown: readonly T[],
  firstPage: readonly T[],
): { items: T[]; newCount: number; hasMoreNew: boolean } {
  const newest = new Map(firstPage.map((item) => [idOf(item), item]))
  const items = shown.map((item) => newest.get(idOf(item)) ?? item)
  const known = new Set(shown.map(idOf))
  const newCount = firstPage.filter((item) => !known.has(idOf(item))).length
  return { items, newCount, hasMoreNew: newCount > 0 && newCount === firstPage.length }
}
