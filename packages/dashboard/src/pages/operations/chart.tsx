import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { page } from '../../browser.js'
import {
  formatCount,
  formatDuration,
  formatExactTime,
  formatPercent,
  formatPlural,
  type Zone,
} from '../../format.js'
import { effectiveTheme } from '../../theme.js'
import { zone } from '../../zone.js'
import type { Marker } from './markers.js'
import type { SeriesPoint } from './series.js'
import { stepLength, type TimeSpan } from './steps.js'

const COLOURS = {
  light: {
    text: '#4a5763',
    grid: '#e3e8ec',
    calls: '#8fbccb',
    failed: '#d23b34',
    retries: '#d98a1f',
    errors: '#8f1713',
    low: '#2f8aa5',
    middle: '#7a4fb5',
    high: '#b3211c',
    config: '#0b5c73',
    breaker: '#b3211c',
  },
  dark: {
    text: '#b4c0ca',
    grid: '#2b3640',
    calls: '#3c7486',
    failed: '#d9534b',
    retries: '#e0a04a',
    errors: '#ff9a92',
    low: '#4a9fb8',
    middle: '#b79be0',
    high: '#ff9a92',
    config: '#7cd0e8',
    breaker: '#ff9a92',
  },
} as const
type Palette = (typeof COLOURS)['light' | 'dark']

const TRAFFIC_HEIGHT = 210
const LATENCY_HEIGHT = 130

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

interface ChartData {
  readonly points: readonly SeriesPoint[]
  readonly span: TimeSpan
  readonly markers: readonly Marker[]
}

interface ChartProps extends ChartData {
  readonly onZoom: (span: TimeSpan) => void
}

/** What a chart reads when it draws. The chart is created once, but its data changes. */
interface ChartSource extends ChartProps {
  readonly zone: Zone
}

const startOf = ({ points }: ChartData): number => points[0]?.at ?? 0
const endOf = ({ points, span }: ChartData): number => (points.at(-1)?.at ?? 0) + stepLength(span)

const markersOf = ({ markers, span }: ChartData, { at }: SeriesPoint): Marker[] =>
  markers.filter((marker) => marker.at >= at && marker.at < at + stepLength(span))

/** All values of a step, one line each, for the tooltip. */
function describePoint(source: ChartSource, point: SeriesPoint): string[] {
  const { calls, failed, retries, errorRate, latency } = point
  return [
    `${formatExactTime(point.at, source.zone).replace('.000', '')}`,
    `Calls ${formatCount(calls)}`,
    `Failed ${formatCount(failed)}${errorRate === undefined ? '' : ` (${formatPercent(errorRate)})`}`,
    `Retries ${formatCount(retries)}`,
    ...(latency === undefined
      ? []
      : [
          `p50 ${formatDuration(latency.p50)}`,
          `p95 ${formatDuration(latency.p95)}`,
          `p99 ${formatDuration(latency.p99)}`,
        ]),
    ...markersOf(source, point).map(({ kind, text }) => `${kind === 'config' ? '◆' : '▲'} ${text}`),
  ]
}

/** Shows the values of the step under the cursor in a box beside the cursor. */
function tooltipPlugin(sourceOf: () => ChartSource): uPlot.Plugin {
  const box = page.createElement('div')
  box.className = 'chart-tooltip'
  box.hidden = true
  let isOver = false
  return {
    hooks: {
      init: ({ over }) => {
        over.append(box)
        over.addEventListener('mouseenter', () => {
          isOver = true
        })
        over.addEventListener('mouseleave', () => {
          isOver = false
          box.hidden = true
        })
      },
      setCursor: ({ cursor: { idx, left = 0, top = 0 }, over }) => {
        const source = sourceOf()
        const point = idx == null ? undefined : source.points[idx]
        box.hidden = !isOver || point === undefined || left < 0
        if (box.hidden || point === undefined) return
        box.textContent = describePoint(source, point).join('\n')
        const isRight = left > over.clientWidth / 2
        box.style.left = isRight ? 'auto' : `${left + 12}px`
        box.style.right = isRight ? `${over.clientWidth - left + 12}px` : 'auto'
        box.style.top = `${Math.max(0, Math.min(top, over.clientHeight - 40))}px`
      },
    },
  }
}

/** Draws a line for each marker, with a symbol at its top. */
function drawMarkers({ ctx, bbox, valToPos }: uPlot, { markers }: ChartData, colours: Palette): void {
  ctx.save()
  ctx.font = `${Math.round(11 * globalThis.devicePixelRatio)}px sans-serif`
  ctx.textAlign = 'center'
  for (const { at, kind } of markers) {
    const x = Math.round(valToPos(at / 1000, 'x', true))
    ctx.strokeStyle = colours[kind]
    ctx.fillStyle = colours[kind]
    ctx.setLineDash(kind === 'config' ? [4, 4] : [])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.fillText(kind === 'config' ? '◆' : '▲', x, bbox.top + 10 * globalThis.devicePixelRatio)
  }
  ctx.restore()
}

/** What both charts have in common: the time axis, zooming, the tooltip and the markers. */
function commonOptions(
  width: number,
  height: number,
  sync: string,
  colours: Palette,
  sourceOf: () => ChartSource,
): Pick<uPlot.Options, 'width' | 'height' | 'cursor' | 'tzDate' | 'plugins' | 'hooks' | 'legend'> {
  return {
    width,
    height,
    legend: { live: false },
    cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: sync }, y: false },
    tzDate: (seconds) => {
      const date = new Date(seconds * 1000)
      return sourceOf().zone === 'utc' ? uPlot.tzDate(date, 'Etc/UTC') : date
    },
    plugins: [tooltipPlugin(sourceOf)],
    hooks: {
      draw: [(chart) => drawMarkers(chart, sourceOf(), colours)],
      setSelect: [
        (chart) => {
          const { left, width: selected } = chart.select
          if (selected < 8) return
          const at = (x: number) => chart.posToVal(x, 'x') * 1000
          sourceOf().onZoom({ from: at(left), to: at(left + selected) })
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

const axisStyle = (colours: Palette) => ({
  stroke: colours.text,
  grid: { stroke: colours.grid, width: 1 },
  ticks: { stroke: colours.grid },
})

/** The width of an axis depends on its longest label. Both charts have the same, so that their times are below each other. */
const LABEL_SIZE = 66
const RATE_SIZE = 52

function trafficOptions(colours: Palette, sourceOf: () => ChartSource) {
  const axis = axisStyle(colours)
  const bar = { width: 0, points: { show: false } }
  return {
    scales: {
      x: { range: (): [number, number] => [startOf(sourceOf()) / 1000, endOf(sourceOf()) / 1000] },
      y: {
        range: (_: uPlot, __: number, maximum: number): [number, number] => [0, Math.max(4, maximum * 1.1)],
      },
      share: { range: (): [number, number] => [0, 1.05] },
    },
    axes: [
      { ...axis, space: 70, values: TIME_AXIS_FORMAT },
      {
        ...axis,
        size: LABEL_SIZE,
        values: (_: uPlot, ticks: number[]) =>
          ticks.map((tick) => (Number.isInteger(tick) ? formatCount(tick) : '')),
      },
      {
        ...axis,
        scale: 'share',
        side: 1 as const,
        size: RATE_SIZE,
        grid: { show: false },
        splits: () => [0, 0.25, 0.5, 0.75, 1],
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => `${Math.round(tick * 100)} %`),
      },
    ],
    series: [
      {},
      { ...bar, label: 'Calls', fill: colours.calls, paths: barPaths(-1) },
      // Failed calls are a part of the calls, so their bar covers the lower part of the other.
      { ...bar, label: 'Failed calls', fill: colours.failed, paths: barPaths(-1) },
      { ...bar, label: 'Retries', fill: colours.retries, paths: barPaths(1) },
      {
        label: 'Error rate',
        stroke: colours.errors,
        width: 2,
        scale: 'share',
        points: { show: true, size: 5, fill: colours.errors },
      },
    ],
  }
}

function latencyOptions(colours: Palette, sourceOf: () => ChartSource) {
  const axis = axisStyle(colours)
  const line = (label: string, stroke: string) => ({
    label,
    stroke,
    width: 2,
    spanGaps: false,
    points: { show: true, size: 4, fill: stroke },
  })
  return {
    scales: {
      x: { range: (): [number, number] => [startOf(sourceOf()) / 1000, endOf(sourceOf()) / 1000] },
      y: {
        range: (_: uPlot, __: number, maximum: number): [number, number] => [0, (maximum || 0.001) * 1.1],
      },
    },
    axes: [
      { ...axis, space: 70, values: TIME_AXIS_FORMAT },
      {
        ...axis,
        size: LABEL_SIZE,
        space: 24,
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => formatDuration(tick)),
      },
      { ...axis, side: 1 as const, size: RATE_SIZE, grid: { show: false }, values: () => [] },
    ],
    series: [
      {},
      line('Latency p50', colours.low),
      line('Latency p95', colours.middle),
      line('Latency p99', colours.high),
    ],
  }
}

const trafficData = (points: readonly SeriesPoint[]) => [
  points.map(({ calls }) => calls),
  points.map(({ failed }) => failed),
  points.map(({ retries }) => retries),
  points.map(({ errorRate }) => errorRate ?? null),
]

const latencyData = (points: readonly SeriesPoint[]) =>
  (['p50', 'p95', 'p99'] as const).map((key) => points.map(({ latency }) => latency?.[key] ?? null))

/** How many charts were created: each pair has its own cursor. */
let createdCharts = 0

/** The charts of calls, failed calls, retries and error rate, and of latencies. Dragging with the mouse zooms in. */
export function Chart(props: ChartProps) {
  const source = useRef<ChartSource>({ ...props, zone: zone.value })
  source.current = { ...props, zone: zone.value }
  const hosts = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)] as const
  const plots = useRef<readonly uPlot[]>([])
  const currentTheme = effectiveTheme.value

  useEffect(() => {
    const colours = COLOURS[currentTheme]
    const sourceOf = () => source.current
    const sync = `traffic ${++createdCharts}`
    const elements = hosts.map(({ current }) => current as HTMLDivElement)
    const [traffic, latency] = elements as [HTMLDivElement, HTMLDivElement]
    const charts = [
      new uPlot(
        {
          ...commonOptions(traffic.clientWidth, TRAFFIC_HEIGHT, sync, colours, sourceOf),
          ...trafficOptions(colours, sourceOf),
        },
        [[], [], [], [], []],
        traffic,
      ),
      new uPlot(
        {
          ...commonOptions(latency.clientWidth, LATENCY_HEIGHT, sync, colours, sourceOf),
          ...latencyOptions(colours, sourceOf),
        },
        [[], [], [], []],
        latency,
      ),
    ]
    plots.current = charts
    const observer = new ResizeObserver(() => {
      for (const [index, chart] of charts.entries())
        chart.setSize({
          width: traffic.clientWidth,
          height: index === 0 ? TRAFFIC_HEIGHT : LATENCY_HEIGHT,
        })
    })
    observer.observe(traffic)
    return () => {
      observer.disconnect()
      for (const chart of charts) chart.destroy()
    }
  }, [currentTheme])

  useEffect(() => {
    const { points, span } = props
    const half = stepLength(span) / 2
    const times = points.map(({ at }) => (at + half) / 1000)
    const [traffic, latency] = plots.current
    traffic?.setData([times, ...trafficData(points)] as uPlot.AlignedData)
    latency?.setData([times, ...latencyData(points)] as uPlot.AlignedData)
  }, [props.points, props.markers, currentTheme, zone.value])

  const sum = (key: 'calls' | 'failed' | 'retries') =>
    props.points.reduce((total, point) => total + point[key], 0)
  const range = `from ${formatExactTime(props.span.from, zone.value)} to ${formatExactTime(props.span.to, zone.value)}`
  const label = `Chart ${range}: ${formatPlural(sum('calls'), 'call', 'calls')}, ${formatCount(sum('failed'))} failed, ${formatPlural(sum('retries'), 'retry', 'retries')}`
  return (
    <>
      <div ref={hosts[0]} class="chart" role="img" aria-label={label} />
      <div ref={hosts[1]} class="chart latency" role="img" aria-label={`Latency percentiles ${range}`} />
    </>
  )
}
