import { format } from './format.mjs'

/**
 * What a subject had to reach, and whether it did.
 *
 * @param {import('../cases/index.mjs').Case} one
 * @param {import('../run.mjs').Row} row
 * @returns {{ words: string, got: string, kept: boolean }[]}
 */
export function verdicts({ metrics }, row) {
  const found = []
  for (const { metric, limit, met } of row.bounds) {
    const { title, unit } = metrics.find(({ key }) => key === metric) ?? { title: metric, unit: 'count' }
    const words = `${row.bounds.length > 1 ? `${title} ` : ''}<= ${format[unit](limit)}`
    const measured = row.metrics[metric]
    const got = measured ? format[unit](measured.median) : 'not measured'
    found.push({ words, got: got === format[unit](limit) ? 'a little more' : got, kept: met })
  }
  for (const [words, holds] of Object.entries(row.checks)) found.push({ words, got: 'not so', kept: holds })
  return found
}
