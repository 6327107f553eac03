import type { Reply } from './client.js'
import type { Wired } from './serve.js'

/** The number of responses by status. */
export function statuses(replies: readonly Reply[]): string {
  const counts = new Map<number, number>()
  for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')
}

const COLUMNS = [
  'total_attempts',
  'success_count',
  'failure_count',
  'avg_latency',
  'circuit_breaker_opens',
] as const

type Row = Record<(typeof COLUMNS)[number], number> & { proxy_id: string }

/** The table by proxy: the first few of each kind, and the totals of each kind. */
export function byProxyTable({ proxies }: Wired, shown: number): string {
  const kinds = new Map<string, Row[]>()
  for (const row of Object.values(proxies as Record<string, Row>)) {
    const kind = row.proxy_id.replace(/-\d+$/, '')
    kinds.set(kind, [...(kinds.get(kind) ?? []), row])
  }
  const lines = [line('proxy_id', [...COLUMNS])]
  for (const [kind, rows] of [...kinds].toSorted(([a], [b]) => a.localeCompare(b))) {
    const sorted = rows.toSorted((a, b) => a.proxy_id.localeCompare(b.proxy_id))
    for (const row of sorted.slice(0, shown))
      lines.push(
        line(
          row.proxy_id,
          COLUMNS.map((name) => figure(name, row[name])),
        ),
      )
    const sums = COLUMNS.map((name) => {
      const sum = rows.reduce((total, row) => total + row[name], 0)
      return figure(name, name === 'avg_latency' ? sum / rows.length : sum)
    })
    lines.push(line(`all ${rows.length} ${kind}`, sums))
  }
  return lines.join('\n')
}

const figure = (name: string, value: number): string =>
  name === 'avg_latency' ? value.toFixed(4) : String(value)

const line = (first: string, rest: readonly string[]): string =>
  `  ${first.padEnd(18)}${rest.map((text, i) => text.padStart((COLUMNS[i]?.length ?? 0) + 2)).join('')}`

let failed = 0

/** Prints the result of a check. */
export function check(what: string, holds: boolean): void {
  console.log(`  ${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) failed++
}

/** The number of failed checks. */
export const failures = (): number => failed
