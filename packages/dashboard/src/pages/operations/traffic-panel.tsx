import { MINUTE_MS } from '@holdfast/records/constants'
import type { QueryResult } from '../../api/use-query.js'
import { EmptyState, Panel, QueryView, Time } from '../../components/basics.js'
import { formatCount, formatExactTime } from '../../format.js'
import { selectFixedRange } from '../../time-range.js'
import { zone } from '../../zone.js'
import { Chart } from './chart.js'
import type { Marker } from './markers.js'
import type { Traffic } from './series.js'
import { stepLength, type TimeSpan } from './steps.js'

/** The calls of a time range, with the markers of its chart. */
export interface MarkedTraffic extends Traffic {
  readonly markers: readonly Marker[]
}

/** How many markers are listed below the chart. */
const MAX_MARKERS_LISTED = 5

/** Selects the range that was dragged over, of at least five minutes. */
function zoomTo({ from, to }: TimeSpan): void {
  const middle = (from + to) / 2
  const half = Math.max((to - from) / 2, 2.5 * MINUTE_MS)
  selectFixedRange(Math.round(middle - half), Math.round(middle + half))
}

/** The newest markers as links, because a chart cannot be read without a pointer. */
function MarkerList({ markers }: { markers: readonly Marker[] }) {
  if (markers.length === 0) return null
  const listed = markers.toReversed().slice(0, MAX_MARKERS_LISTED)
  return (
    <ul class="markers" aria-label="Markers">
      {listed.map(({ at, kind, text, href }) => (
        <li key={`${at} ${text}`} class={kind === 'config' ? 'config' : 'opening'}>
          <span aria-hidden="true">{kind === 'config' ? '◆' : '▲'}</span> <a href={href}>{text}</a>{' '}
          <Time at={at} />
        </li>
      ))}
      {markers.length > listed.length && (
        <li class="hint">and {formatCount(markers.length - listed.length)} earlier</li>
      )}
    </ul>
  )
}

/** The panel with the charts of a time range. */
export function TrafficPanel({ of, title }: { of: QueryResult<MarkedTraffic>; title: string }) {
  return (
    <Panel title={title} class="wide">
      <div class="traffic">
        <QueryView of={of}>
          {({ span, points, markers }) => (
            <>
              {points.some(({ calls }) => calls > 0) ? (
                <Chart points={points} span={span} markers={markers} onZoom={zoomTo} />
              ) : (
                <EmptyState title="No calls in this time range">
                  Calls that a process runs with <code>hf.run(operation, fn)</code> are shown here.
                </EmptyState>
              )}
              <MarkerList markers={markers} />
              <p class="hint">
                {formatExactTime(span.from, zone.value)} to {formatExactTime(span.to, zone.value)}, one point
                per {stepLength(span) === 60 * MINUTE_MS ? 'hour' : `${stepLength(span) / MINUTE_MS} min`}.
                Drag over the chart to zoom in. ◆ configuration change, ▲ breaker opened.
              </p>
            </>
          )}
        </QueryView>
      </div>
    </Panel>
  )
}
