import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { count, exact, percent } from '../../format.js'
import { shade } from '../../shell/theme.js'
import type { Point } from './series.js'
import type { Span } from './steps.js'

const COLOURS = {
  light: { text: '#4a5763', grid: '#e3e8ec', calls: '#0b6e8a', retries: '#b25e00', success: '#1f7a3d' },
  dark: { text: '#b4c0ca', grid: '#2b3640', calls: '#5cc3e0', retries: '#f0a64a', success: '#6fcf8e' },
}

/** How the axis says times: by the smallest step between two of them (s), with the day where it changes. */
const TIMES: uPlot.Axis.Values = [
  [3600, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
]

/** Calls and retries on one side, success on the other. A stretch that is drawn with the mouse is looked at closer. */
export function Chart(props: { points: readonly Point[]; span: Span; onZoom: (span: Span) => void }) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const zoom = useRef(props.onZoom)
  zoom.current = props.onZoom
  const look = shade.value

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const colour = COLOURS[look]
    const axis = {
      stroke: colour.text,
      grid: { stroke: colour.grid, width: 1 },
      ticks: { stroke: colour.grid },
    }
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 240,
        cursor: { drag: { x: true, y: false, setScale: false } },
        scales: {
          x: { range: (_, least, most) => [least, Math.max(most, least + 60)] },
          y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] },
          share: { range: () => [0, 1.02] },
        },
        axes: [
          { ...axis, space: 70, values: TIMES },
          { ...axis, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : '')) },
          {
            ...axis,
            scale: 'share',
            side: 1,
            size: 56,
            grid: { show: false },
            values: (_, ticks) => ticks.map((tick) => `${Math.round(tick * 100)} %`),
          },
        ],
        series: [
          { value: (_, at) => (at == null ? '' : exact(at * 1000)), label: 'Time' },
          { label: 'Calls', stroke: colour.calls, width: 2, fill: `${colour.calls}22` },
          { label: 'Retries', stroke: colour.retries, width: 2, dash: [6, 3] },
          {
            label: 'Success',
            stroke: colour.success,
            width: 2,
            dash: [2, 3],
            scale: 'share',
            spanGaps: true,
            value: (_, share) => (share == null ? '' : percent(share)),
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
    plot.current = made
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 240 }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      made.destroy()
    }
  }, [look])

  useEffect(() => {
    const { points } = props
    plot.current?.setData([
      points.map(({ at }) => at / 1000),
      points.map(({ calls }) => calls),
      points.map(({ retries }) => retries),
      points.map(({ success }) => success ?? null),
    ] as uPlot.AlignedData)
  }, [props.points, look])

  const sum = (key: 'calls' | 'retries') => props.points.reduce((total, point) => total + point[key], 0)
  const label = `Chart from ${exact(props.span.from)} to ${exact(props.span.to)}: ${count(sum('calls'))} calls, ${count(sum('retries'))} retries`
  return <div ref={host} class="chart" role="img" aria-label={label} />
}
