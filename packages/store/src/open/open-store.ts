import { isAbsolute, resolve } from 'node:path'
import { createOptionsError, createProblem } from 'holdfast/internal'
import { memoryStore } from '../memory/index.js'
import type { Store } from '../store.js'
import { parseStoreUrl, STORE_URL_FORMAT, type StoreScheme } from '../store-url.js'

/** Options of {@link openStore}. */
export interface OpenStoreOptions {
  /** The folder that relative paths start from, for example that of the config file. @defaultValue the working folder */
  dir?: string | undefined
}

/** Creates a store from the part of the url after the scheme; relative paths start from `dir`. */
type OpenBackend = (location: string, dir: string) => Promise<Store>

/** A backend is loaded when it is first used, because most processes need only one of them. */
const BACKENDS: { readonly [scheme in StoreScheme]: OpenBackend } = {
  memory: async () => memoryStore(),
  files: async (dir) => (await import('../files/index.js')).filesStore(dir),
  sqlite: async (file) => (await import('../sqlite/index.js')).openSqlite(file),
  postgres: async (location, dir) =>
    (await import('../postgres/index.js')).openPostgres(`postgres:${location}`, {
      spillDir: resolve(dir, 'data/spill'),
    }),
}

/**
 * Opens the store that a url names: `memory`, `files:DIR`, `sqlite:FILE` or `postgres://HOST/DATABASE`, which needs the package
 * `pg`. Relative paths start from `dir`, and missing folders are created. Close the store after use.
 *
 * @throws INVALID_OPTIONS for a url that is not valid
 * @throws STORE_UNAVAILABLE if the file, folder or database cannot be used
 *
 * @example
 * ```ts
 * import { openStore } from '@holdfast/runtime'
 *
 * const store = await openStore('memory')
 * await store.values.set('greeting', { text: 'hello' })
 * await store.values.get('greeting') // => { text: 'hello' }
 * await store.close()
 *
 * await openStore('redis://localhost') // throws INVALID_OPTIONS
 * ```
 */
export async function openStore(url: string, { dir = '.' }: OpenStoreOptions = {}): Promise<Store> {
  const parsed = parseStoreUrl(url)
  if ('problem' in parsed)
    throw createOptionsError('the store cannot be opened', [
      createProblem('store', 'invalid', STORE_URL_FORMAT, parsed.problem),
    ])
  const { scheme, location } = parsed
  const store = await BACKENDS[scheme](isAbsolute(location) ? location : resolve(dir, location), dir)
  await store.open()
  return store
}
