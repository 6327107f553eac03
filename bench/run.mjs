import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { quartiles } from './measure/quartiles.mjs'

const WORKER = join(import.meta.dirname, 'worker.mjs')
/** How long one subject may take, in milliseconds. */
const LIMIT = 120_000

/**
 * @typedef {object} Row what was measured of a subject
 * @property {string} label
 * @property {Record<string, import('./measure/quartiles.mjs').Quartiles>} metrics
 * @property {{ metric: string, limit: number, met: boolean }[]} bounds
 * @property {Record<string, boolean>} checks
 * @property {string} [failed] why something was not measured
 *
 * @typedef {import('./cases/index.mjs').Measured | { failed: string }} Told by a worker
 */

/**
 * What has no bound to keep is measured in two processes at the most.
 *
 * @param {import('./cases/index.mjs').Case} one
 * @param {import('./cases/index.mjs').Subject} subject
 */
export const roundsOf = ({ rounds }, { bounds }) => (bounds === undefined ? Math.min(2, rounds) : rounds)

/**
 * Measures a case, one process at a time.
 *
 * @param {import('./cases/index.mjs').Case} one
 * @param {(label: string, round: number) => void} onStart
 * @returns {Promise<Row[]>}
 */
export async function runCase(one, onStart) {
  const { name, rounds, subjects } = one
  /** @type {Told[][]} by subject */
  const told = subjects.map(() => [])
  for (let round = 1; round <= rounds; round++) {
    for (const [index, subject] of subjects.entries()) {
      if (round > roundsOf(one, subject)) continue
      onStart(subject.label, round)
      told[index]?.push(await worker(name, subject.label))
    }
  }
  return subjects.map((subject, index) => row(subject, told[index] ?? []))
}

/**
 * @param {import('./cases/index.mjs').Subject} subject
 * @param {Told[]} told
 * @returns {Row}
 */
function row({ label, bounds = {} }, told) {
  /** @type {Row} */
  const made = { label, metrics: {}, bounds: [], checks: {} }
  const measured = told.flatMap((one) => ('failed' in one ? [] : [one]))
  for (const one of told) if ('failed' in one) made.failed = one.failed
  for (const key of Object.keys(measured[0]?.samples ?? {}))
    made.metrics[key] = quartiles(measured.flatMap(({ samples }) => samples[key] ?? []))
  for (const [metric, limit] of Object.entries(bounds)) {
    const median = made.metrics[metric]?.median ?? Number.POSITIVE_INFINITY
    made.bounds.push({ metric, limit, met: median <= limit })
  }
  for (const { checks = {} } of measured)
    for (const [words, holds] of Object.entries(checks))
      made.checks[words] = holds && made.checks[words] !== false
  return made
}

/**
 * @param {string} name
 * @param {string} label
 * @returns {Promise<Told>}
 */
function worker(name, label) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--expose-gc', WORKER, name, label], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: LIMIT,
    })
    let output = ''
    child.stdout.on('data', (text) => (output += text))
    child.on('error', ({ message }) => resolve({ failed: message }))
    child.on('close', (code, signal) =>
      resolve(code === 0 ? JSON.parse(output) : { failed: `its process ended with ${signal ?? code}` }),
    )
  })
}
