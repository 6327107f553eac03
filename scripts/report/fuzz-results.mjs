import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../packages.mjs'

const folder = join(root, '.cache')
const fileOf = (/** @type {string} */ name) => join(folder, `fuzz-${name}.json`)

/**
 * Saves the last run of a target, which `npm run report:fuzz` writes to docs/trust.md.
 *
 * @param {string} name
 * @param {{ wanted: number, cases: number, seed: number, seconds: number, failure: string | undefined }} run
 */
export function saveFuzzResult(name, { wanted, ...run }) {
  mkdirSync(folder, { recursive: true })
  const command = `npm run test:fuzz -- --targets ${name} --cases ${wanted} --seed ${run.seed}`
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(fileOf(name), `${JSON.stringify({ date, command, ...run }, undefined, 2)}\n`)
}

/** The last run of a target; undefined if there was none. @param {string} name @returns {any} */
export function readFuzzResult(name) {
  try {
    return JSON.parse(readFileSync(fileOf(name), 'utf8'))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  }
}
