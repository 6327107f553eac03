// A series of runs of the gate: its results are in a file, so that it can be continued after an interruption.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { dirname } from 'node:path'

/** A file with another version is not read. */
const VERSION = 1

/**
 * @typedef {object} Result
 * @property {number} seconds
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string[]} failures the names of the failed tests and steps
 *
 * @typedef {Result & { run: number, start: string, machine: string }} Run `start` is in UTC
 *
 * @typedef {object} Setting what all runs of a series have in common
 * @property {string} commit
 * @property {string} command
 * @property {number} busy the number of busy processes
 *
 * @typedef {Setting & { version: number, runs: Run[] }} Series
 */

/** A reason why a series cannot be continued, for the user. */
export class SeriesError extends Error {}

/** The number of runs in a row that passed, up to the last one. @param {readonly Run[]} runs */
export const consecutivePassed = (runs) =>
  runs.length - 1 - runs.findLastIndex(({ failures }) => failures.length > 0)

/** How often each test or step failed, the most frequent first. @param {readonly Run[]} runs @returns {[name: string, times: number][]} */
export function failureCounts(runs) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const { failures } of runs) for (const name of failures) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1])
}

/** The commit of a repository, and the files that differ from it. @param {string} folder */
function readTree(folder) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
  return {
    commit: git('rev-parse', 'HEAD').trim(),
    changes: git('status', '--porcelain')
      .split('\n')
      .filter((line) => line !== ''),
  }
}

/** @returns {string} */
function describeMachine() {
  const [first] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} cores (${first?.model.trim() || 'unknown'}), ${memory} GiB, Node.js ${process.version}`
}

/** @param {string} file @returns {Series} */
export function readSeries(file) {
  if (!existsSync(file))
    throw new SeriesError(`${file} does not exist. Start a series: npm run test:stability`)
  /** @type {Partial<Series> | undefined} */
  let series
  try {
    series = JSON.parse(readFileSync(file, 'utf8'))
  } catch {}
  if (series?.version !== VERSION || !Array.isArray(series.runs))
    throw new SeriesError(`${file} is not a file of this version. Start a new series: npm run test:stability`)
  return /** @type {Series} */ (series)
}

/** Another process that reads the file never finds half of it. @param {string} file @param {Series} series */
function writeSeries(file, series) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.new`, `${JSON.stringify(series, undefined, 2)}\n`)
  renameSync(`${file}.new`, file)
}

const short = (/** @type {string} */ commit) => commit.slice(0, 12)

/** @param {readonly string[]} changes */
const listChanges = (changes) =>
  [...changes.slice(0, 10), ...(changes.length > 10 ? [`… and ${changes.length - 10} more`] : [])]
    .map((line) => `\n  ${line}`)
    .join('')

/**
 * Why a stored series cannot be continued, with what to do.
 *
 * @param {Setting} stored
 * @param {Setting} now
 * @returns {string | undefined}
 */
function resumeProblem(stored, now) {
  if (stored.commit !== now.commit)
    return `The series is for commit ${short(stored.commit)}, but the current commit is ${short(now.commit)}. Check out ${short(stored.commit)}, or start a new series without --resume.`
  if (stored.command !== now.command)
    return `The series runs \`${stored.command}\`, but this is \`${now.command}\`. Use the same --tests, or start a new series without --resume.`
  if (stored.busy !== now.busy)
    return `The series runs beside ${stored.busy} busy processes, but this is --busy ${now.busy}. Use --busy ${stored.busy}, or start a new series without --resume.`
  return undefined
}

/**
 * Runs until `count` consecutive runs could have passed: a failed run does not end the series, but the runs before it no longer
 * count. A run is stored when it has ended, so that an interrupted run was not made.
 *
 * @param {object} options
 * @param {string} options.root the folder of the repository
 * @param {string} options.file where the results are stored
 * @param {number} options.count
 * @param {boolean} options.resume continues the stored series
 * @param {string} options.command
 * @param {number} options.busy
 * @param {() => Promise<Result>} options.runOnce
 * @param {(run: Run) => void} [options.onRun]
 * @param {(text: string) => void} [options.onNote]
 * @returns {Promise<Series>} with the runs that were stored before
 */
export async function runSeries({ root, file, count, resume, command, busy, runOnce, onRun, onNote }) {
  const { commit, changes } = readTree(root)
  const isStored = changes.length === 0
  if (!isStored && resume)
    throw new SeriesError(
      `A series can only be resumed without uncommitted changes. Commit or stash these, or start a new series without --resume:${listChanges(changes)}`,
    )
  if (!isStored)
    onNote?.('There are uncommitted changes: the results are not stored, and the series cannot be resumed.')

  const setting = { commit, command, busy }
  const series = resume ? readSeries(file) : { version: VERSION, ...setting, runs: [] }
  const problem = resumeProblem(series, setting)
  if (problem !== undefined) throw new SeriesError(problem)
  if (isStored) writeSeries(file, series)

  const machine = describeMachine()
  for (let left = count - consecutivePassed(series.runs); left > 0; left--) {
    const start = new Date().toISOString()
    const result = await runOnce()
    const now = readTree(root)
    if (isStored && (now.commit !== commit || now.changes.length > 0))
      throw new SeriesError(
        `The repository has changed during the run, which does not count. It must be at commit ${short(commit)} without changes; now it is at ${short(now.commit)}${now.changes.length > 0 ? ` with these changes:${listChanges(now.changes)}` : '.'}`,
      )
    const run = { run: series.runs.length + 1, start, machine, ...result }
    series.runs.push(run)
    if (isStored) writeSeries(file, series)
    onRun?.(run)
  }
  return series
}

/** @param {number} seconds */
export const formatDuration = (seconds) =>
  `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2)} s`

/** All runs as a table, with what failed below. @param {Series} series @param {number} count how many consecutive runs must pass */
export function formatSeries({ commit, command, busy, runs }, count) {
  const rows = [
    ['run', 'start (UTC)', 'duration', 'result', 'passed', 'failed', 'skipped'],
    ...runs.map(({ run, start, seconds, passed, failed, skipped, failures }) => [
      String(run),
      start.slice(0, 16).replace('T', ' '),
      formatDuration(seconds),
      failures.length === 0 ? 'ok' : 'FAILED',
      ...[passed, failed, skipped].map(String),
    ]),
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const table = rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '))
  return [
    ...table,
    '',
    ...failureCounts(runs).map(([name, times]) => `${times} × ${name}`),
    `${consecutivePassed(runs)} of ${count} consecutive runs passed: \`${command}\` at commit ${short(commit)} beside ${busy} busy processes`,
    ...new Set(runs.map(({ machine }) => machine)),
  ].join('\n')
}
