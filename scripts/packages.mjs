// What the workspace publishes, read from the packages' own `exports`: the build, the API snapshots and the
// package checks all follow it, so a new subpath is one entry in one package.json.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ id: string, source: string, types: string, code: string }} Entry
 *   `id` is how it is imported; the others are absolute paths.
 * @typedef {{ name: string, dir: string, private: boolean, entries: Entry[] }} Package
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
      }
    })
}

/**
 * @param {string} dir
 * @param {string} name
 * @param {Record<string, { types: string, default: string } | string>} exported
 * @returns {Entry[]}
 */
function entries(dir, name, exported) {
  return Object.entries(exported).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return []
    return {
      id: name + subpath.slice(1),
      source: join(dir, target.default.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')),
      types: join(dir, target.types),
      code: join(dir, target.default),
    }
  })
}
