// oxlint-disable holdfast/clock -- the date of a run on real time
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../../../.cache', import.meta.url))
const fileOf = (/** @type {string} */ run) => join(folder, `crash-${run}.json`)

/**
 * Saves the numbers of a run, which `npm run report:crash` writes to docs/trust.md. `args` repeat the run, with its seed.
 *
 * @param {string} run the name of its script
 * @param {readonly string[]} args
 * @param {object} summary
 */
export function saveSummary(run, args, summary) {
  mkdirSync(folder, { recursive: true })
  const command = ['node', `packages/runtime/test/crash/${run}.mjs`, ...args].join(' ')
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(fileOf(run), `${JSON.stringify({ date, command, ...summary }, undefined, 2)}\n`)
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
