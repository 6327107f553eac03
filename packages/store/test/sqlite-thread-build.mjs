// Builds the program of the SQLite thread from its sources, for programs that are built from sources too.
import { join } from 'node:path'
import { build } from 'esbuild'
import { sourceAliases } from '../../../scripts/packages.mjs'

const SOURCE = join(import.meta.dirname, '../src/sqlite/holdfast-sqlite-thread.ts')

/**
 * Writes the program to a folder, and returns its path. A store whose code is in the same folder uses it. The folder must be in
 * the workspace, so that the driver is found.
 *
 * @param {string} folder
 */
export async function buildSqliteThread(folder) {
  const outfile = join(folder, 'holdfast-sqlite-thread.js')
  await build({
    entryPoints: [SOURCE],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql'],
    alias: sourceAliases,
    logLevel: 'warning',
  })
  return outfile
}
