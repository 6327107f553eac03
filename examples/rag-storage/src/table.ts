import type { Run } from './example.js'

const share = (written: number, failed: number) =>
  `${Math.round((100 * written) / (written + failed))} %`.padStart(5)
const seconds = (ms: number | undefined) => (ms === undefined ? '' : `${(ms / 1000).toFixed(2)} s`)

/** A table that compares both runs. */
export function tableOf(without: Run, withRetries: Run): string {
  const rows = withRetries.outcomes.map((outcome, i) => {
    const bare = without.outcomes[i] ?? outcome
    const errors = [...outcome.errors].map(([code, count]) => `${count} × ${code.slice(0, 34)}`)
    return [
      outcome.fault,
      share(bare.written, bare.failed),
      share(outcome.written, outcome.failed),
      seconds(outcome.recovery),
      errors.slice(0, 3).join(', '),
    ]
  })
  const found = ({ findings: { missing, duplicate, partial } }: Run) =>
    `${missing} / ${duplicate} / ${partial}`
  return [
    table([['fault', 'without', 'with retries', 'recovery', 'errors'], ...rows]),
    '',
    table([
      ['rows missing / duplicate / documents in part', 'without', 'with retries'],
      ['', found(without), found(withRetries)],
    ]),
  ].join('\n')
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
