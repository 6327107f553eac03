// oxlint-disable holdfast/clock -- the date of a run on real time
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../../../.cache', import.meta.url))
const fileOf = (/** @type {string} */ run) => join(folder, `crash-${run}.json`)

/** The exit code of a run that found no problem and was not complete. */
export const INCOMPLETE_EXIT_CODE = 2

/**
 * Ends a run: saves its numbers, which `npm run report:crash` writes to docs/trust.md, and returns the exit code. A run that was not
 * complete and found no problem is not saved, because it would look like a run that passed. `args` repeat the run, with its seed.
 *
 * @param {string} run the name of its script
 * @param {readonly string[]} args
 * @param {{ problems: readonly string[] }} summary
 * @param {{ done: number, wanted: number, unit: string }} progress
 * @param {string} [file]
 * @returns {number}
 */
export function endRun(run, args, summary, { done, wanted, unit }, file = fileOf(run)) {
  const hasFailed = summary.problems.length > 0
  if (!hasFailed && !(done >= wanted)) {
    console.error(`incomplete: ${done} of ${wanted} ${unit}; the summary was not saved`)
    return INCOMPLETE_EXIT_CODE
  }
  mkdirSync(dirname(file), { recursive: true })
  const command = ['node', `packages/runtime/test/crash/${run}.mjs`, ...args].join(' ')
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(file, `${JSON.stringify({ date, command, ...summary }, undefined, 2)}\n`)
  return hasFailed ? 1 : 0
}

/** The numbers of the last run; undefined if there was none. @param {string} run @returns {any} */
export function readSummary(run) {
  try {
    return JSON.parse(readFileSync(fileOf(run), 'utf8'))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  }
}
