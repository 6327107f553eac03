// Writes the summaries of the last crash runs (kills.mjs, postgres.mjs, fleet.mjs) to docs/trust.md: `npm run report:crash`.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { replaceSection } from '../../../../scripts/report/section.mjs'
import { readSummary } from './summary.mjs'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const MARKERS = {
  begin: '<!-- crash run: written by npm run report:crash -->',
  end: '<!-- end of the crash run -->',
}

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

/** How faults are called in the documentation. @type {Record<string, string>} */
const FAULTS = {
  kill: 'a worker killed',
  terminate: 'all connections ended',
  restart: 'the server stopped and started',
  crash: 'the server killed',
  tripped: 'the breaker tripped',
  reset: 'the breaker reset',
}

/** @param {number} value */
const format = (value) => value.toLocaleString('en-US')

/** The summary as Markdown. @param {any} summary */
function describe({ date, command, cores, minutes, kills, killsByPhase, stores, problems }) {
  const result =
    problems.length === 0
      ? 'No acknowledged dead letter was lost, and none was recorded as completed twice.'
      : `${format(problems.length)} problems were found.`
  const phases = Object.entries(killsByPhase).map(([phase, count]) => `${format(count)} ${PHASES[phase]}`)
  return [
    `On ${date}, \`${command}\` killed ${format(kills)} processes in ${format(minutes)} minutes on a machine with ${cores} cores. ${result}`,
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

/** @param {string[]} problems @param {string} result */
const resultOf = (problems, result) =>
  problems.length === 0 ? result : `${format(problems.length)} problems were found.`

/** The faults and how often each happened. @param {Record<string, number>} faults */
const listFaults = (faults) =>
  Object.entries(faults)
    .filter(([name]) => name !== 'nothing')
    .map(([name, count]) => `${FAULTS[name] ?? name} ${format(count)}`)
    .join(', ')

/** The runs with failing servers as Markdown. @param {any} postgres @param {any} fleet */
function describeServers(postgres, fleet) {
  const rows = []
  if (postgres !== undefined)
    rows.push(
      `| PostgreSQL | ${listFaults(postgres.faults)} | ${postgres.workers} workers, ${format(postgres.acknowledged)} dead letters: ${resultOf(postgres.problems, 'all completed, none twice')} | \`${postgres.command}\` (${postgres.date}) |`,
    )
  if (fleet !== undefined)
    rows.push(
      `| Redis | ${listFaults(fleet.faults)} | ${fleet.processes} processes, ${format(fleet.calls)} calls, ${format(fleet.probes)} probes in ${format(fleet.epochs)} epochs, at most ${fleet.mostProbesInAnEpoch} in one (allowed: 2): ${resultOf(fleet.problems, 'the same state on all nodes after each round, no call waited for Redis')} | \`${fleet.command}\` (${fleet.date}) |`,
    )
  if (rows.length === 0) return ''
  return [
    '',
    '',
    'Processes that use a failing server:',
    '',
    '| server | faults | result | command |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const summary = readSummary('kills')
if (summary === undefined) throw new Error('there was no crash run: npm run test:crash')
if (summary.problems.length === 0 && summary.kills < summary.wantedKills)
  throw new Error('the last crash run was not complete: npm run test:crash')
const report = describe(summary) + describeServers(readSummary('postgres'), readSummary('fleet'))
console.log(replaceSection(join(root, 'docs/trust.md'), MARKERS, () => report))
