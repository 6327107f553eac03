import { type HistogramSample, METRICS, type MetricsReading, type Sample } from './metrics.js'

/** The content type of the Prometheus text format. */
export const EXPOSITION_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

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

function formatBuckets(name: string, { labels, bounds, counts, sum }: HistogramSample): string[] {
  const lines: string[] = []
  let below = 0
  for (let i = 0; i <= bounds.length; i++) {
    below += counts[i] ?? 0
    const le = i === bounds.length ? '+Inf' : formatNumber(bounds[i] as number)
    lines.push(`${formatSeries(`${name}_bucket`, { ...labels, le })} ${formatNumber(below)}`)
  }
  lines.push(`${formatSeries(`${name}_sum`, labels)} ${formatNumber(sum)}`)
  lines.push(`${formatSeries(`${name}_count`, labels)} ${formatNumber(below)}`)
  return lines
}

/** Formats a reading for Prometheus. Metrics without samples are listed too, so that users can find them. */
export function formatExposition({ numbers, durations }: MetricsReading): string {
  const lines: string[] = []
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    if (type === 'histogram')
      for (const sample of durations[name as keyof typeof durations])
        lines.push(...formatBuckets(name, sample))
    else
      for (const { labels, value } of numbers[name as keyof typeof numbers] as readonly Sample[])
        lines.push(`${formatSeries(name, labels)} ${formatNumber(value)}`)
  }
  return `${lines.join('\n')}\n`
}
