import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const RIVALS = ['cockatiel', 'opossum', 'p-retry', 'mollitia', 'effect']

/** @param {string} name @returns {string} */
export const versionOf = (name) => manifest(name)?.version ?? 'unknown'

/** @param {string} name @returns {string[]} none for a path within a package */
export const dependenciesOf = (name) => Object.keys(manifest(name)?.dependencies ?? {})

/**
 * A package's own package.json, found as Node finds it: here or in a folder above, where this repository's own packages
 * are linked.
 *
 * @param {string} name
 */
function manifest(name) {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    const file = join(dir, 'node_modules', name, 'package.json')
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  }
  return undefined
}
