// The folder of a run.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file that every run writes first. */
const SAMPLES = 'samples.jsonl'

/**
 * Creates the folder of a run, without the files of an earlier run. Throws if it has other files, which must not be deleted.
 *
 * @param {string} folder
 * @returns {string} the path of the file for samples
 */
export function prepareFolder(folder) {
  const names = existsSync(folder) ? readdirSync(folder) : []
  if (names.length > 0 && !names.includes(SAMPLES))
    throw new Error(`${folder} has files that are not from a soak run; choose an empty folder with --folder`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, SAMPLES), '')
  return join(folder, SAMPLES)
}
