import { type HistogramSample, METRICS, type Reading, type Sample } from './metrics.js'

/** The content type of what Prometheus reads. */
export const EXPOSITION = 'text/plain; version=0.0.4; charset=utf-8'

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const labelled = (name: string, labels: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
}

const number = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function buckets(name: string, { labels, bounds, counts, sum }: HistogramSample): string[] {
  const lines: string[] = []
  let below = 0
  for (let i = 0; i <= bounds.length; i++) {
    below += counts[i] ?? 0
    const le = i === bounds.length ? '+Inf' : number(bounds[i] as number)
    lines.push(`${labelled(`${name}_bucket`, { ...labels, le })} ${number(below)}`)
  }
  lines.push(`${labelled(`${name}_sum`, labels)} ${number(sum)}`)
  lines.push(`${labelled(`${name}_count`, labels)} ${number(below)}`)
  return lines
}

/** A reading as Prometheus takes it. Metrics without a sample are named all the same, so that they can be found. */
export function exposition({ numbers, durations }: Reading): string {
  const lines: string[] = []
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    if (type === 'histogram')
      for (const sample of durations[name as keyof typeof durations]) lines.push(...buckets(name, sample))
    else
      for (const { labels, value } of numbers[name as keyof typeof numbers] as readonly Sample[])
        lines.push(`${labelled(name, labels)} ${number(value)}`)
  }
  return `${lines.join('\n')}\n`
}
