import { type QueryResult, useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import { timeRange } from '../../time-range.js'
import { loadMarkers } from './markers.js'
import { loadTraffic } from './series.js'
import type { MarkedTraffic } from './traffic-panel.js'

const REFRESH_MS = 10_000

/** The calls of the selected time range: of all operations, or of one. */
export function useTraffic(operation?: string): QueryResult<MarkedTraffic> {
  const range = timeRange.value
  return useQuery(
    JSON.stringify([operation, range]),
    async (signal) => {
      const now = clock.wall()
      const traffic = await loadTraffic(range, now, signal, operation)
      return { ...traffic, markers: await loadMarkers(traffic.span, now, signal) }
    },
    REFRESH_MS,
  )
}
