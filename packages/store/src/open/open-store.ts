import { isAbsolute, resolve } from 'node:path'
import { HoldfastError } from 'holdfast'
import { memoryStore } from '../memory/index.js'
import type { Store } from '../store.js'

/** Options of {@link openStore}. */
export interface OpenStoreOptions {
  /** The folder that relative paths start from, for example that of the config file. @defaultValue the working folder */
  dir?: string | undefined
}

/** Creates a store from the part of the url after the scheme; relative paths start from `dir`. */
type OpenBackend = (location: string, dir: string) => Promise<Store>

/** A backend is loaded when it is first used, because most processes need only one of them. */
const BACKENDS: Record<string, { form: string; make: OpenBackend }> = {
  memory: { form: 'memory', make: async () => memoryStore() },
  files: { form: 'files:DIR', make: async (dir) => (await import('../files/index.js')).filesStore(dir) },
  sqlite: {
    form: 'sqlite:FILE',
    make: async (file) => (await import('../sqlite/index.js')).openSqlite(file),
  },
  postgres: {
    form: 'postgres://HOST/DATABASE',
    make: async (location, dir) =>
      (await import('../postgres/index.js')).openPostgres(`postgres:${location}`, {
        spillDir: resolve(dir, 'data/spill'),
      }),
  },
}

/** Schemes with another name. */
const SCHEME_ALIASES: Record<string, string> = { postgresql: 'postgres' }

const URL_FORMATS = Object.values(BACKENDS)
  .map(({ form }) => form)
  .join(', ')

const createUrlError = (problem: string): HoldfastError =>
  new HoldfastError('INVALID_OPTIONS', `store: ${problem}; expected ${URL_FORMATS}`)

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
  const [, input = '', location = ''] = /^([a-z][a-z0-9+.-]*)(?::(.*))?$/is.exec(url) ?? []
  const scheme = Object.hasOwn(SCHEME_ALIASES, input) ? (SCHEME_ALIASES[input] as string) : input
  const found = Object.hasOwn(BACKENDS, scheme) ? BACKENDS[scheme] : undefined
  // Messages repeat only the scheme, because the rest of the url can contain a password.
  if (found === undefined)
    throw createUrlError(scheme === '' ? 'the url has no scheme' : `unknown scheme '${scheme}:'`)
  if (scheme === 'memory' ? location !== '' : location === '')
    throw createUrlError(`expected ${location === '' ? 'a location' : 'nothing'} after '${scheme}:'`)
  const store = await found.make(isAbsolute(location) ? location : resolve(dir, location), dir)
  await store.open()
  return store
}
