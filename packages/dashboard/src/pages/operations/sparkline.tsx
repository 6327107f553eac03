import { formatCount, formatPlural } from '../../format.js'
import type { SeriesPoint } from './series.js'

/** The calls of an operation as a small bar chart. The lower part of a bar is its failed calls. */
export function Sparkline({ points }: { points: readonly Pick<SeriesPoint, 'calls' | 'failed'>[] }) {
  const maximum = Math.max(1, ...points.map(({ calls }) => calls))
  const width = 100 / Math.max(1, points.length)
  const sum = (key: 'calls' | 'failed') => points.reduce((total, point) => total + point[key], 0)
  const title = `${formatPlural(sum('calls'), 'call', 'calls')}, ${formatCount(sum('failed'))} failed, at most ${formatCount(maximum)} in a step`
  const bar = (kind: string, count: number, index: number) =>
    count === 0 ? null : (
      <rect
        class={kind}
        x={index * width}
        width={Math.max(0.5, width * 0.85)}
        y={20 - Math.max(1.2, (count / maximum) * 20)}
        height={Math.max(1.2, (count / maximum) * 20)}
      />
    )
  return (
    <svg class="sparkline" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={title}>
      <title>{title}</title>
      {points.map(({ calls }, index) => bar('calls', calls, index))}
      {points.map(({ failed }, index) => bar('failed', failed, index))}
    </svg>
  )
}
