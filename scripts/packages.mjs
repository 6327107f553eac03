// The packages of the workspace and their entries, read from `exports` of each package.json. The build, the API snapshots and the
// package checks use it, so that a new subpath is one entry in one package.json.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command of a package; its `bin/` starts what is built from it. */
const COMMAND_SOURCE = 'src/cli/main.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ id: string, source: string, types: string, code: string }} Entry
 *   `id` is how it is imported; the others are absolute paths.
 * @typedef {{ name: string, dir: string, private: boolean, entries: Entry[], commands: string[], hasCommonJs: boolean }} Package
 *   `commands` are the sources of its commands; `hasCommonJs` is true if `require` loads files of their own.
 * @typedef {{ types: string, default: string }} Target
 * @typedef {Target | { require: Target, default: Target } | string} ExportTarget
 */

/** @returns {Package[]} */
export function packages() {
  const base = join(root, 'packages')
  return readdirSync(base)
    .map((folder) => join(base, folder))
    .filter((dir) => existsSync(join(dir, 'package.json')))
    .map((dir) => {
      const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
      return {
        name: manifest.name,
        dir,
        private: manifest.private === true,
        entries: entries(dir, manifest.name, manifest.exports ?? {}),
        commands: [join(dir, COMMAND_SOURCE)].filter((file) => existsSync(file)),
        hasCommonJs: Object.values(manifest.exports ?? {}).some((target) => 'require' in Object(target)),
      }
    })
}

/**
 * @param {string} dir
 * @param {string} name
 * @param {Record<string, ExportTarget>} exported
 * @returns {Entry[]}
 */
function entries(dir, name, exported) {
  return Object.entries(exported).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return []
    const { types, default: code } = 'require' in target ? target.default : target
    return {
      id: name + subpath.slice(1),
      source: source(dir, code),
      types: join(dir, types),
      code: join(dir, code),
    }
  })
}

/** @param {string} dir @param {string} built */
const source = (dir, built) => join(dir, built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts'))

/** The sources of all entries by the names they are imported by, for bundles that must not contain anything stale. */
export const sourceAliases = Object.fromEntries(
  packages().flatMap(({ entries }) => entries.map(({ id, source }) => [id, source])),
)

/** The text of the schema for editors. @param {object} schema */
export const formatSchema = (schema) => `${JSON.stringify(schema, null, 2)}\n`

/** Files that are imported as text, for every bundle of sources. */
export const sourceLoaders = /** @type {const} */ ({ '.lua': 'text' })
