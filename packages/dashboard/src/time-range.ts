import { MINUTE_MS } from '@holdfast/records/constants'
import { computed } from '@preact/signals'
import { clock } from './browser.js'
import { route, updateQuery } from './route.js'

/** The ranges that end now, by their name in the URL. */
export const RANGES = [
  ['15m', 'Last 15 min', 15 * MINUTE_MS],
  ['1h', 'Last 1 h', 60 * MINUTE_MS],
  ['6h', 'Last 6 h', 360 * MINUTE_MS],
  ['24h', 'Last 24 h', 1440 * MINUTE_MS],
  ['7d', 'Last 7 d', 10_080 * MINUTE_MS],
] as const

/** The selected time range: all, one that ends now, or one with a fixed start and possibly an end. In milliseconds. */
export type SelectedTimeRange =
  | { readonly kind: 'all' }
  | { readonly kind: 'last'; readonly name: string; readonly length: number }
  | { readonly kind: 'fixed'; readonly from: number; readonly to?: number }

/** A time in the URL: ISO 8601. */
const parseTime = (text: string | undefined): number | undefined => {
  const at = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** The time range of a URL; all where it has none or one that is not valid. */
function parseTimeRange(query: Readonly<Record<string, string>>): SelectedTimeRange {
  const preset = RANGES.find(([name]) => name === query['range'])
  if (preset !== undefined) return { kind: 'last', name: preset[0], length: preset[2] }
  const [from, to] = [parseTime(query['from']), parseTime(query['to'])]
  if (from === undefined) return { kind: 'all' }
  return { kind: 'fixed', from, ...(to === undefined || to <= from ? {} : { to }) }
}

/** The time range in the URL. All pages share it. */
export const timeRange = computed(() => parseTimeRange(route.value.query))

/** Start and end of a range at a time; a range over all times has neither. */
export function boundsOf(range: SelectedTimeRange, at: number): { from?: number; to?: number } {
  if (range.kind === 'all') return {}
  if (range.kind === 'last') return { from: at - range.length }
  return { from: range.from, ...(range.to === undefined ? {} : { to: range.to }) }
}

let previous: { key: string; filter: { from?: string; to?: string } } | undefined

/**
 * The time range as the parameters `from` and `to` of the API. The start of a range that ends now stays the same until the
 * user selects another range or page, so that a list is not loaded again every second.
 */
export const rangeFilter = computed<{ from?: string; to?: string }>(() => {
  const range = timeRange.value
  const key = `${route.value.path} ${JSON.stringify(range)}`
  if (previous?.key === key) return previous.filter
  const { from, to } = boundsOf(range, clock.wall())
  const filter = {
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  }
  previous = { key, filter }
  return filter
})

/** Selects a range by its name in the URL; undefined selects all. */
export const selectRange = (name: string | undefined): void =>
  updateQuery({ range: name, from: undefined, to: undefined })

/** Selects a range with a fixed start and possibly an end, in epoch milliseconds. */
export const selectFixedRange = (from: number, to?: number): void =>
  updateQuery({
    range: undefined,
    from: new Date(from).toISOString(),
    to: to === undefined ? undefined : new Date(to).toISOString(),
  })
