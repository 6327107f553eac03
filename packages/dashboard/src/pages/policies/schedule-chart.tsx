import { formatDuration } from '../../format.js'
import type { PolicySchedule } from './schedule.js'
import { formatTotalWait } from './schedule-text.js'

const CHART_WIDTH = 480
const CHART_HEIGHT = 170
const CHART_LEFT = 64
const CHART_BOTTOM = 26

/** The chart of the waits between attempts: a line without jitter, a band with jitter. */
export function ScheduleChart({
  schedule,
  totalTimeout,
}: {
  schedule: PolicySchedule | undefined
  totalTimeout: unknown
}) {
  if (schedule === undefined) return <p class="hint">The values are not complete or not valid.</p>
  const { waits } = schedule
  if (waits.length === 0) return <p class="hint">One attempt without a wait.</p>
  const top = Math.max(...waits.map(({ base, most }) => Math.max(base, most)), 0.001)
  const step = (CHART_WIDTH - CHART_LEFT) / waits.length
  const y = (seconds: number) => 8 + (1 - seconds / top) * (CHART_HEIGHT - CHART_BOTTOM - 8)
  const label = waits
    .map(
      ({ attempt, least, most }) =>
        `before attempt ${attempt} ${formatDuration(least)} to ${formatDuration(most)}`,
    )
    .join(', ')
  return (
    <figure class="drawing">
      <svg viewBox={`0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`} role="img" aria-label={`Waits: ${label}`}>
        {[0, 0.5, 1].map((share) => (
          <g>
            <line class="grid" x1={CHART_LEFT} x2={CHART_WIDTH} y1={y(top * share)} y2={y(top * share)} />
            <text x={CHART_LEFT - 6} y={y(top * share) + 4} text-anchor="end">
              {formatDuration(top * share)}
            </text>
          </g>
        ))}
        {waits.map(({ attempt, base, least, most }, index) => {
          const x = CHART_LEFT + index * step
          return (
            <g>
              <rect
                class="band"
                x={x + step * 0.12}
                width={step * 0.76}
                y={y(most)}
                height={Math.max(1, y(least) - y(most))}
              />
              <line class="base" x1={x + step * 0.08} x2={x + step * 0.92} y1={y(base)} y2={y(base)} />
              {(waits.length <= 12 || index % 2 === 0) && (
                <text x={x + step / 2} y={CHART_HEIGHT - 8} text-anchor="middle">
                  {attempt}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <figcaption class="hint">{formatTotalWait(schedule, totalTimeout)}</figcaption>
    </figure>
  )
}
