import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatCount, formatExactTime, formatPercent } from '../../format.js'
import { effectiveTheme } from '../../theme.js'
import type { SeriesPoint } from './series.js'
import { stepLength, type TimeSpan } from './steps.js'

const COLOURS = {
  light: { text: '#4a5763', grid: '#e3e8ec', calls: '#2f8aa5', retries: '#d98a1f', success: '#1f7a3d' },
  dark: { text: '#b4c0ca', grid: '#2b3640', calls: '#4a9fb8', retries: '#e0a04a', success: '#6fcf8e' },
}

const HEIGHT = 240

/** Bars beside each other: calls end in the middle of their step, retries begin there. */
const barPaths = (side: -1 | 1) =>
  (uPlot.paths.bars as uPlot.Series.BarsPathBuilderFactory)({
    size: [0.42, 40, 1],
    align: side,
    radius: 0.15,
  })

/** How the axis says times: by the smallest step between two of them (s), with the day where it changes. */
const TIME_AXIS_FORMAT: uPlot.Axis.Values = [
  [3600, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
]

/** Calls and retries as bars, success as a line. A stretch that is drawn with the mouse is looked at closer. */
export function Chart(props: {
  points: readonly SeriesPoint[]
  span: TimeSpan
  onZoom: (span: TimeSpan) => void
}) {
  const half = stepLength(props.span) / 2
  // The hooks below outlive a change of the range.
  const reach = useRef({ from: 0, to: 1, half })
  reach.current = {
    from: (props.points[0]?.at ?? 0) / 1000,
    to: ((props.points.at(-1)?.at ?? 0) + 2 * half) / 1000,
    half,
  }
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const zoom = useRef(props.onZoom)
  zoom.current = props.onZoom
  const look = effectiveTheme.value

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const colour = COLOURS[look]
    const axis = {
      stroke: colour.text,
      grid: { stroke: colour.grid, width: 1 },
      ticks: { stroke: colour.grid },
    }
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { drag: { x: true, y: false, setScale: false } },
        scales: {
          x: { range: () => [reach.current.from, reach.current.to] },
          y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] },
          share: { range: () => [0, 1.05] },
        },
        axes: [
          { ...axis, space: 70, values: TIME_AXIS_FORMAT },
          {
            ...axis,
            // As wide as the longest number needs.
            size: (_, said) => 24 + 7.5 * Math.max(2, ...(said ?? []).map((text) => text.length)),
            values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? formatCount(tick) : '')),
          },
          {
            ...axis,
            scale: 'share',
            side: 1,
            size: 56,
            grid: { show: false },
            splits: () => [0, 0.25, 0.5, 0.75, 1],
            values: (_, ticks) => ticks.map((tick) => `${Math.round(tick * 100)} %`),
          },
        ],
        series: [
          {
            label: 'From',
            value: (_, at) => (at == null ? '' : formatExactTime(at * 1000 - reach.current.half)),
          },
          {
            label: 'Calls',
            fill: colour.calls,
            width: 0,
            paths: barPaths(-1),
            points: { show: false },
            value: (_, calls) => (calls == null ? '' : formatCount(calls)),
          },
          {
            label: 'Retries',
            fill: colour.retries,
            width: 0,
            paths: barPaths(1),
            points: { show: false },
            value: (_, retries) => (retries == null ? '' : formatCount(retries)),
          },
          {
            label: 'Success',
            stroke: colour.success,
            width: 2,
            scale: 'share',
            points: { show: true, size: 6, fill: colour.success },
            value: (_, share) => (share == null ? '' : formatPercent(share)),
          },
        ],
        hooks: {
          setSelect: [
            (drawn) => {
              const { left, width } = drawn.select
              if (width < 8) return
              const at = (x: number) => drawn.posToVal(x, 'x') * 1000
              zoom.current({ from: at(left), to: at(left + width) })
              drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            },
          ],
        },
      },
      [[], [], [], []],
      element,
    )
    plot.current = created
    const watch = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      created.destroy()
    }
  }, [look])

  useEffect(() => {
    const { points } = props
    plot.current?.setData([
      points.map(({ at }) => (at + half) / 1000),
      points.map(({ calls }) => calls),
      points.map(({ retries }) => retries),
      points.map(({ success }) => success ?? null),
    ] as uPlot.AlignedData)
  }, [props.points, look])

  const sum = (key: 'calls' | 'retries') => props.points.reduce((total, point) => total + point[key], 0)
  const label = `Chart from ${formatExactTime(props.span.from)} to ${formatExactTime(props.span.to)}: ${formatCount(sum('calls'))} calls, ${formatCount(sum('retries'))} retries`
  return <div ref={host} class="chart" role="img" aria-label={label} />
}
