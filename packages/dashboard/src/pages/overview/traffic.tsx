import { useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import { EmptyState, Panel, QueryView } from '../../components/basics.js'
import { formatExactTime } from '../../format.js'
import { route, updateQuery } from '../../route.js'
import { Chart } from './chart.js'
import { defaultMinutes, loadSeries } from './series.js'
import { MINUTE_MS, stepLength, type TimeSpan } from './steps.js'

const RANGES = [
  ['24 h', 1440],
  ['6 h', 360],
  ['1 h', 60],
  ['15 min', 15],
] as const

/** A range in minutes that ends now, or a selected time range. */
type RangeChoice = { readonly minutes: number } | TimeSpan

/** The range in the URL; undefined where it is missing or not valid. */
function parseRange({ range, from, to }: Readonly<Record<string, string>>): RangeChoice | undefined {
  const [minutes, begin, end] = [Number(range), Number(from), Number(to)]
  if (begin > 0 && end > begin) return { from: begin, to: end }
  const preset = RANGES.find(([, length]) => length === minutes)
  return preset && { minutes: preset[1] }
}

const toTimeSpan = (choice: RangeChoice, to: number): TimeSpan =>
  'from' in choice ? choice : { from: to - choice.minutes * MINUTE_MS, to }

/** The panel with the chart of calls, retries and success rate. */
export function Traffic() {
  const selected = parseRange(route.value.query)
  const loaded = useQuery(
    JSON.stringify(selected ?? 'default'),
    async (signal) => {
      const now = clock.wall()
      const choice = selected ?? { minutes: await defaultMinutes(now, signal) }
      const span = toTimeSpan(choice, now)
      return { choice, span, points: await loadSeries(span, now, signal) }
    },
    10_000,
  )
  const shown = selected ?? loaded.data?.choice
  const buttons = RANGES.map(([name, minutes]) => (
    <button
      type="button"
      class="small secondary"
      aria-pressed={shown !== undefined && 'minutes' in shown && shown.minutes === minutes}
      onClick={() => updateQuery({ range: String(minutes), from: undefined, to: undefined })}
    >
      {name}
    </button>
  ))
  return (
    <Panel
      title="Traffic"
      class="wide"
      actions={
        <div role="group" aria-label="Range">
          {buttons}
        </div>
      }
    >
      <div class="traffic">
        <QueryView of={loaded}>
          {({ span, points }) => (
            <>
              {points.some(({ calls }) => calls > 0) ? (
                <Chart
                  points={points}
                  span={span}
                  onZoom={({ from, to }) => {
                    const middle = (from + to) / 2
                    const half = Math.max((to - from) / 2, 2.5 * MINUTE_MS)
                    const [begin, end] = [Math.round(middle - half), Math.round(middle + half)]
                    updateQuery({ range: undefined, from: String(begin), to: String(end) })
                  }}
                />
              ) : (
                <EmptyState title="No calls in this time range">
                  Calls that a process runs with <code>hf.run(operation, fn)</code> are shown here.
                </EmptyState>
              )}
              <p class="hint">
                {formatExactTime(span.from)} to {formatExactTime(span.to)}, one point per{' '}
                {stepLength(span) === 60 * MINUTE_MS ? 'hour' : `${stepLength(span) / MINUTE_MS} min`}. Drag
                over the chart to zoom in.
              </p>
            </>
          )}
        </QueryView>
      </div>
    </Panel>
  )
}
