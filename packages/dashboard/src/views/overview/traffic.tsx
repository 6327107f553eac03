import { useLoad } from '../../api/load.js'
import { exact } from '../../format.js'
import { clock } from '../../page.js'
import { Empty, Panel, Show } from '../../parts/basics.js'
import { refine, route } from '../../route.js'
import { Chart } from './chart.js'
import { load, usualMinutes } from './series.js'
import { MINUTE, type Span, stepOf } from './steps.js'

const RANGES = [
  ['24 h', 1440],
  ['6 h', 360],
  ['1 h', 60],
  ['15 min', 15],
] as const

/** A range that ends now, in minutes, or one that was drawn. */
type Choice = { readonly minutes: number } | Span

/** What the address asks for; undefined where it asks for nothing that makes sense. */
function choiceOf({ range, from, to }: Readonly<Record<string, string>>): Choice | undefined {
  const [minutes, begin, end] = [Number(range), Number(from), Number(to)]
  if (begin > 0 && end > begin) return { from: begin, to: end }
  const named = RANGES.find(([, one]) => one === minutes)
  return named && { minutes: named[1] }
}

const spanOf = (choice: Choice, to: number): Span =>
  'from' in choice ? choice : { from: to - choice.minutes * MINUTE, to }

/** Calls, retries and success over time. */
export function Traffic() {
  const chosen = choiceOf(route.value.query)
  const loaded = useLoad(
    JSON.stringify(chosen ?? 'usual'),
    async (signal) => {
      const now = clock.wall()
      const choice = chosen ?? { minutes: await usualMinutes(now, signal) }
      const span = spanOf(choice, now)
      return { choice, span, points: await load(span, now, signal) }
    },
    10_000,
  )
  const shown = chosen ?? loaded.data?.choice
  const buttons = RANGES.map(([name, minutes]) => (
    <button
      type="button"
      class="small secondary"
      aria-pressed={shown !== undefined && 'minutes' in shown && shown.minutes === minutes}
      onClick={() => refine({ range: String(minutes), from: undefined, to: undefined })}
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
        <Show of={loaded}>
          {({ span, points }) => (
            <>
              {points.some(({ calls }) => calls > 0) ? (
                <Chart
                  points={points}
                  span={span}
                  onZoom={({ from, to }) => {
                    const middle = (from + to) / 2
                    const half = Math.max((to - from) / 2, 2.5 * MINUTE)
                    const [begin, end] = [Math.round(middle - half), Math.round(middle + half)]
                    refine({ range: undefined, from: String(begin), to: String(end) })
                  }}
                />
              ) : (
                <Empty title="No calls in this time">
                  Calls show here as soon as a process runs them with <code>hf.run(operation, fn)</code>.
                </Empty>
              )}
              <p class="hint">
                {exact(span.from)} to {exact(span.to)}, a point for{' '}
                {stepOf(span) === 60 * MINUTE ? 'each hour' : `every ${stepOf(span) / MINUTE} min`}. Draw over
                the chart to look closer.
              </p>
            </>
          )}
        </Show>
      </div>
    </Panel>
  )
}
