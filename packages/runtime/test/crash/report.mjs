// Writes the summary of the last crash run (kills.mjs) to docs/trust.md: `npm run report:crash`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const page = join(root, 'docs/trust.md')
const BEGIN = '<!-- crash run: written by npm run report:crash -->'
const END = '<!-- end of the crash run -->'

/** How stores are called in the documentation. @type {Record<string, string>} */
const TITLES = { files: 'files', sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** What a process did when it was killed. @type {Record<string, string>} */
const PHASES = {
  starting: 'were starting',
  opening: 'opened a store',
  working: 'added, leased and settled dead letters',
  deleting: 'deleted completed ones',
  closing: 'closed the store',
}

/** @param {number} value */
const format = (value) => value.toLocaleString('en-US')

/** The summary as Markdown. @param {any} summary */
function describe({ date, command, cores, minutes, wantedKills, kills, killsByPhase, stores, problems }) {
  const result =
    problems.length === 0
      ? 'No acknowledged dead letter was lost, and none was recorded as completed twice.'
      : `${format(problems.length)} problems were found.`
  const part =
    kills >= wantedKills
      ? ''
      : ` The run was stopped before ${format(wantedKills)} kills, the number of a complete run.`
  const phases = Object.entries(killsByPhase).map(([phase, count]) => `${format(count)} ${PHASES[phase]}`)
  return [
    `On ${date}, \`${command}\` killed ${format(kills)} processes in ${format(minutes)} minutes on a machine with ${cores} cores. ${result}${part}`,
    '',
    `When they were killed, ${phases.slice(0, -1).join(', ')} and ${phases.at(-1)}. Up to four processes worked on a store at a time; about half of these groups were killed at the same instant.`,
    '',
    '| store | killed processes | acknowledged dead letters | acknowledged completions | entries read after kills |',
    '|---|---|---|---|---|',
    ...Object.entries(stores).map(
      ([store, counts]) =>
        `| ${TITLES[store]} | ${[counts.kills, counts.acknowledged, counts.completed, counts.checked].map(format).join(' | ')} |`,
    ),
  ].join('\n')
}

const summary = JSON.parse(readFileSync(join(root, '.cache/crash.json'), 'utf8'))
const text = readFileSync(page, 'utf8')
const [before, rest] = text.split(BEGIN)
const after = rest?.split(END)[1]
if (rest === undefined || after === undefined)
  throw new Error(`${page}: expected the lines ${BEGIN} and ${END}`)
writeFileSync(page, `${before}${BEGIN}\n\n${describe(summary)}\n\n${END}${after}`)
console.log(describe(summary))
