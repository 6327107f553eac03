// Shared by the measurements of stores. Stores are not part of the public API, so their sources are measured.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildSqliteThread } from '../../packages/store/test/sqlite-thread-build.mjs'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Makes a file that exports what `contents` does, with paths that begin in the root folder, and gives its path.
 *
 * @param {string} name
 * @param {string} contents
 */
export async function bundleSources(name, contents) {
  const outfile = join(ROOT, '.cache', `${name}-bench-${process.pid}.mjs`)
  await build({
    stdin: { contents, resolveDir: ROOT },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  return outfile
}

/**
 * Makes the program of the SQLite thread and a file that exports what `contents` does, both in one folder, so that a store uses
 * the thread. Loads the file and calls `use`, then deletes the folder.
 *
 * @template T
 * @param {string} name
 * @param {string} contents
 * @param {(exported: any) => Promise<T>} use
 */
export async function withThreadSources(name, contents, use) {
  const folder = join(ROOT, '.cache', `${name}-bench-${process.pid}`)
  await mkdir(folder, { recursive: true })
  try {
    const outfile = await bundleSources(join(`${name}-bench-${process.pid}`, 'main'), contents)
    await buildSqliteThread(folder)
    return await use(await import(pathToFileURL(outfile).href))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Loads what `contents` exports, with paths that begin in the root folder.
 *
 * @param {string} name
 * @param {string} contents
 */
export async function loadSources(name, contents) {
  const outfile = await bundleSources(name, contents)
  try {
    return await import(pathToFileURL(outfile).href)
  } finally {
    await rm(outfile)
  }
}

/** @typedef {import('../../packages/records/src/dead-letter.js').DeadLetter} DeadLetter */

export const START = Date.UTC(2026, 0, 1)

export const random = () => Math.random().toString(36).slice(2, 14)

/** @param {number} n @returns {DeadLetter} */
export const letter = (n) => ({
  schema: '1.1',
  dlqId: `dlq_20260101_000000_item${n}_${random()}`,
  itemId: `item${n}`,
  operationType: `operation_${n % 10}`,
  status: 'pending',
  originalPayload: { id: n, text: 'x'.repeat(500) },
  errorDetails: {
    errorType: 'Error',
    errorMessage: 'the service is down',
    stackTrace: 'x'.repeat(500),
    retryCount: 2,
  },
  createdAt: new Date(START + n),
  lastAttempt: new Date(START + n),
  processed: false,
  idempotencyKey: `idk_${random()}`,
  policyId: 'default',
})
