import { formatCount } from '../format.js'

const TREND_HEIGHT = 22
const BAR_WIDTH = 4

/** The errors of a group over the time range as a small bar chart. */
export function Trend({ counts }: { counts: readonly number[] }) {
  const maximum = Math.max(1, ...counts)
  const title = `${formatCount(counts.reduce((sum, count) => sum + count, 0))} errors, at most ${formatCount(maximum)} in one of ${counts.length} equal parts of the time range`
  return (
    <svg
      class="trend"
      viewBox={`0 0 ${counts.length * BAR_WIDTH} ${TREND_HEIGHT}`}
      width={counts.length * BAR_WIDTH}
      height={TREND_HEIGHT}
      role="img"
      aria-label={title}
    >
      <title>{title}</title>
      {counts.map((count, index) => {
        const height = count === 0 ? 1 : Math.max(2, (count / maximum) * TREND_HEIGHT)
        return (
          <rect
            class={count === 0 ? 'zero' : ''}
            x={index * BAR_WIDTH}
            y={TREND_HEIGHT - height}
            width={BAR_WIDTH - 1}
            height={height}
          />
        )
      })}
    </svg>
  )
}
