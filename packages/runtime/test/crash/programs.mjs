// Builds the programs of the processes that kills.mjs kills, one for each store, from the sources.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { sourceAliases } from '../../../../scripts/packages.mjs'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const THREAD_SOURCE = join(root, 'packages/store/src/sqlite/holdfast-sqlite-thread.ts')
export const LAUNCHER = fileURLToPath(new URL('cached-program.cjs', import.meta.url))

/** Writes a program as a function of `require`. @param {string} outfile @param {import('esbuild').BuildOptions} input */
async function writeProgram(outfile, input) {
  await build({
    ...input,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    banner: { js: '(function (require) {' },
    footer: { js: '})' },
    // A store finds the program of its thread beside itself.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(outfile).href) },
    supported: { 'dynamic-import': false },
    external: ['libsql', 'pg-native', 'pg-cloudflare'],
    alias: sourceAliases,
    logLevel: 'error',
  })
}

/** Few connections, because each costs the server a process, and long timeouts, because a busy machine is not a lost server. */
export const POSTGRES_OPTIONS = { connections: 3, statementTimeout: 60_000, connectTimeout: 60_000 }

/** @param {string} path @param {string} createStore */
const programOf = (path, createStore) => `
  import { runProgram } from './packages/runtime/test/crash/program.mjs'
  import * as backend from './packages/store/src/${path}'
  runProgram(${createStore})`

/** The programs. A SQLite store has its connection in the main thread or, with the program of the thread, in a thread of its own. */
const SOURCES = {
  files: programOf('files/index.js', '(dir) => backend.filesStore(dir)'),
  sqlite: programOf('sqlite/index.js', '(file) => backend.openSqlite(file)'),
  sqliteThread: programOf('sqlite/index.js', '(file) => backend.openSqlite(file)'),
  postgres: programOf(
    'postgres/index.js',
    `(url, spillDir) => backend.openPostgres(url, { spillDir, ...${JSON.stringify(POSTGRES_OPTIONS)} })`,
  ),
}

/** @typedef {keyof typeof SOURCES} ProgramName */

/**
 * Builds the programs and runs each of them once, so that the next processes can use its compiled code.
 *
 * @param {string} folder in the workspace, where the drivers are found
 * @param {string} postgresUrl
 * @returns {Promise<Record<ProgramName, string>>} their paths
 */
export async function buildPrograms(folder, postgresUrl) {
  /** @type {Record<string, string>} */
  const programs = {}
  for (const [name, source] of Object.entries(SOURCES)) {
    mkdirSync(join(folder, name))
    programs[name] = join(folder, name, 'program.cjs')
    await writeProgram(programs[name], { stdin: { contents: source, resolveDir: root } })
  }
  const thread = join(folder, 'sqliteThread/thread.cjs')
  await writeProgram(thread, { entryPoints: [THREAD_SOURCE] })
  writeFileSync(
    join(folder, 'sqliteThread/holdfast-sqlite-thread.js'),
    `import launcher from ${JSON.stringify(pathToFileURL(LAUNCHER).href)}
     launcher.runCachedProgram(${JSON.stringify(thread)})`,
  )
  const data = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
  const options = JSON.stringify({ name: 'first', seed: 1, entries: 30, hour: 0 })
  for (const [name, program] of Object.entries(programs)) {
    const location = name === 'postgres' ? postgresUrl : join(data, name)
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [LAUNCHER, program, location, data, options],
      { env: { ...process.env, WRITE_CODE_CACHE: '1' } },
    )
    if (stderr !== '') throw new Error(`${name}: expected no warning, got ${stderr}`)
  }
  rmSync(data, { recursive: true })
  return /** @type {Record<ProgramName, string>} */ (programs)
}
