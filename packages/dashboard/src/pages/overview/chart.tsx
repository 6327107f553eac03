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

/** Two bars per step: calls on the left of its centre, retries on the right. */
const barPaths = (side: -1 | 1) =>
  (uPlot.paths.bars as uPlot.Series.BarsPathBuilderFactory)({
    size: [0.42, 40, 1],
    align: side,
    radius: 0.15,
  })

/** The time formats of the axis by the smallest step in seconds, with the date where it changes. */
const TIME_AXIS_FORMAT: uPlot.Axis.Values = [
  [3600, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
]

/** The chart of calls, retries and success rate. Dragging with the mouse zooms in. */
export function Chart(props: {
  points: readonly SeriesPoint[]
  span: TimeSpan
  onZoom: (span: TimeSpan) => void
}) {
  const half = stepLength(props.span) / 2
  // The hooks of the chart are created once, but the range can change.
  const range = useRef({ from: 0, to: 1, half })
  range.current = {
    from: (props.points[0]?.at ?? 0) / 1000,
    to: ((props.points.at(-1)?.at ?? 0) + 2 * half) / 1000,
    half,
  }
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const zoom = useRef(props.onZoom)
  zoom.current = props.onZoom
  const currentTheme = effectiveTheme.value

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const colour = COLOURS[currentTheme]
    const axis = {
      stroke: colour.text,
      grid: { stroke: colour.grid, width: 1 },
      ticks: { stroke: colour.grid },
    }
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { drag: { x: true, y: false, setScale: false } },
        scales: {
          x: { range: () => [range.current.from, range.current.to] },
          y: { range: (_, __, maximum) => [0, Math.max(4, maximum * 1.1)] },
          share: { range: () => [0, 1.05] },
        },
        axes: [
          { ...axis, space: 70, values: TIME_AXIS_FORMAT },
          {
            ...axis,
            // The width depends on the longest number.
            size: (_, labels) => 24 + 7.5 * Math.max(2, ...(labels ?? []).map((text) => text.length)),
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
            value: (_, at) => (at == null ? '' : formatExactTime(at * 1000 - range.current.half)),
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
            (chart) => {
              const { left, width } = chart.select
              if (width < 8) return
              const at = (x: number) => chart.posToVal(x, 'x') * 1000
              zoom.current({ from: at(left), to: at(left + width) })
              chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            },
          ],
        },
      },
      [[], [], [], []],
      element,
    )
    plot.current = chart
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [currentTheme])

  useEffect(() => {
    const { points } = props
    plot.current?.setData([
      points.map(({ at }) => (at + half) / 1000),
      points.map(({ calls }) => calls),
      points.map(({ retries }) => retries),
      points.map(({ success }) => success ?? null),
    ] as uPlot.AlignedData)
  }, [props.points, currentTheme])

  const sum = (key: 'calls' | 'retries') => props.points.reduce((total, point) => total + point[key], 0)
  const label = `Chart from ${formatExactTime(props.span.from)} to ${formatExactTime(props.span.to)}: ${formatCount(sum('calls'))} calls, ${formatCount(sum('retries'))} retries`
  return <div ref={host} class="chart" role="img" aria-label={label} />
}
