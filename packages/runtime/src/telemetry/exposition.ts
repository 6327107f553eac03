import { forEachInTurns } from 'holdfast/internal'
import { type HistogramSample, METRICS, type MetricsReading, type Sample } from './metrics.js'

/** The content type of the Prometheus text format. */
export const EXPOSITION_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** How many lines are formatted in a turn of the event loop: about 1 ms. */
const LINES_PER_TURN = 500

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const formatSeries = (name: string, labels: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
}

const formatNumber = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function* bucketLines(name: string, { labels, bounds, counts, sum }: HistogramSample): Generator<string> {
  let below = 0
  for (let i = 0; i <= bounds.length; i++) {
    below += counts[i] ?? 0
    const le = i === bounds.length ? '+Inf' : formatNumber(bounds[i] as number)
    yield `${formatSeries(`${name}_bucket`, { ...labels, le })} ${formatNumber(below)}`
  }
  yield `${formatSeries(`${name}_sum`, labels)} ${formatNumber(sum)}`
  yield `${formatSeries(`${name}_count`, labels)} ${formatNumber(below)}`
}

/** The lines of a reading. Metrics without samples are listed too, so that users can find them. */
function* linesOf({ numbers, durations }: MetricsReading): Generator<string> {
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    yield `# HELP ${name} ${help}`
    yield `# TYPE ${name} ${type}`
    if (type === 'histogram')
      for (const sample of durations[name as keyof typeof durations]) yield* bucketLines(name, sample)
    else
      for (const { labels, value } of numbers[name as keyof typeof numbers] as readonly Sample[])
        yield `${formatSeries(name, labels)} ${formatNumber(value)}`
  }
}

/** Formats a reading for Prometheus, in turns of the event loop: a runtime with many operations has more than 10,000 lines. */
export async function formatExposition(reading: MetricsReading): Promise<string> {
  const lines: string[] = []
  await forEachInTurns(linesOf(reading), LINES_PER_TURN, (line) => void lines.push(line))
  return `${lines.join('\n')}\n`
}
