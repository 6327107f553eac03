import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeFigures } from '../scripts/docs/figures.mjs'
import { cases } from './cases/index.mjs'
import { holdfast } from './libraries/index.mjs'
import { progress } from './report/progress.mjs'
import { environment, resultsPage } from './report/results.mjs'
import { summary } from './report/summary.mjs'
import { table } from './report/table.mjs'
import { roundsOf, runCase } from './run.mjs'

const names = cases.map(({ name }) => name).join(', ')
const usage = `node bench/main.mjs [--only CASE]... [--json]

  --only CASE  measure this case only, and leave RESULTS.md alone; one of ${names}
  --json       print figures for machines instead of tables`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const unknown = values.only?.find((name) => !cases.some((one) => one.name === name))
if (values.help || unknown !== undefined) {
  console.log(unknown === undefined ? usage : `There is no case ${unknown}.\n\n${usage}`)
  process.exit(unknown === undefined ? 0 : 1)
}

await holdfast().catch((error) => {
  console.error(`holdfast cannot be loaded; has it been built (npm run build)?\n${error.message}`)
  process.exit(1)
})

const chosen = cases.filter(({ name }) => values.only?.includes(name) ?? true)
const processes = chosen.flatMap((one) => one.subjects.map((subject) => roundsOf(one, subject)))
const shown = progress(processes.reduce((sum, rounds) => sum + rounds, 0))

/** @type {import('./report/summary.mjs').Result[]} */
const results = []
for (const one of chosen) {
  const rows = await runCase(one, (label, round) => shown.start(one.name, label, round, one.rounds))
  shown.clear()
  results.push({ one, rows })
  if (!values.json) console.log(`\n${one.title}\n${one.note}\n\n${table(one, rows)}`)
}

if (values.json) {
  const told = results.map(({ one: { name, title, metrics }, rows }) => ({ name, title, metrics, rows }))
  console.log(JSON.stringify({ ...environment(), cases: told }, null, 2))
} else console.log(`\n${summary(results).join('\n')}`)

// A missed bound is a finding, not an error: the exit code says only whether there was something to measure.
if (values.only === undefined) {
  await writeFile(join(import.meta.dirname, 'RESULTS.md'), resultsPage(results))
  writeFigures()
}
