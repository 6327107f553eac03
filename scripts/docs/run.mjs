import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withAssertions } from './assertions.mjs'

const assert = fileURLToPath(new URL('assert.mjs', import.meta.url))

/**
 * Writes an example as a module to be imported, its lines where they are in its document.
 *
 * @param {string} folder within the repository, so that package names resolve
 * @param {import('./extract.mjs').Example} example
 * @returns {string} the path of the module
 */
export function writeModule(folder, example) {
  const path = join(folder, `${example.file}.${example.line}.ts`)
  const first = `import { equal as __equal, throws as __throws } from ${JSON.stringify(assert)}`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, first + '\n'.repeat(example.line - 1) + withAssertions(example))
  return path
}
