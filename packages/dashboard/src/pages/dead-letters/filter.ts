import { DEAD_LETTER_STATUSES } from '@holdfast/records/constants'
import { formatExactTime } from '../../format.js'
import { route, type UrlQuery } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { zone } from '../../zone.js'

/** The statuses of dead letters that are not completed. */
const OPEN_STATUSES = DEAD_LETTER_STATUSES.filter((status) => status !== 'completed')

/** All statuses, completed last. */
export const ORDERED_STATUSES = [...OPEN_STATUSES, 'completed'] as const

/** The choices of the status filter. */
export const STATUS_CHOICES: readonly (readonly [value: string, label: string])[] = [
  ['', 'not completed'],
  ['any', 'any'],
  ...ORDERED_STATUSES.map((status) => [status, status] as const),
]

/** The filter of the list in the parameters of the API. Counts, replays and deletions use the same one. */
export interface WireDeadLetterFilter extends UrlQuery {
  operation?: string | undefined
  status?: string | readonly string[] | undefined
  item_id?: string | undefined
  search?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The filter in the URL. */
export function currentFilter(): WireDeadLetterFilter {
  const { operation, status, item_id, search } = route.value.query
  const statuses = status === undefined ? OPEN_STATUSES : status === 'any' ? undefined : status
  return { operation, status: statuses, item_id, search, ...rangeFilter.value }
}

/** The query of this page for the same filter with another status. */
export function filterQuery(filter: WireDeadLetterFilter, status: string): UrlQuery {
  const { operation, item_id, search, from, to } = filter
  // The page has no time range that only ends.
  return { operation, item_id, search, ...(from === undefined ? {} : { from, to }), status }
}

/** The filter in words, for a confirmation. */
export function describeFilter({
  operation,
  status,
  item_id,
  search,
  from,
  to,
}: WireDeadLetterFilter): string[] {
  const statuses = status === undefined ? ['any status'] : [`status ${[status].flat().join(', ')}`]
  return [
    ...(operation ? [`operation ${operation}`] : []),
    ...statuses,
    ...(item_id ? [`item ${item_id}`] : []),
    ...(search ? [`containing ${search}`] : []),
    ...(from ? [`created since ${formatExactTime(Date.parse(from), zone.peek())}`] : []),
    ...(to ? [`created before ${formatExactTime(Date.parse(to), zone.peek())}`] : []),
  ]
}
