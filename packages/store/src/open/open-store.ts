import { isAbsolute, resolve } from 'node:path'
import { HoldfastError } from 'holdfast'
import { memoryStore } from '../memory/index.js'
import type { Store } from '../store.js'

/** Where relative places of a url begin. */
export interface OpenStoreOptions {
  /** The folder of the config file. @defaultValue the working folder */
  dir?: string | undefined
}

/** Makes a store of what follows the scheme; `dir` is where relative places begin. */
type OpenBackend = (place: string, dir: string) => Promise<Store>

/** A backend is loaded when it is asked for: whoever keeps nothing on disk needs none of it. */
const BACKENDS: Record<string, { form: string; make: OpenBackend }> = {
  memory: { form: 'memory', make: async () => memoryStore() },
  files: { form: 'files:DIR', make: async (dir) => (await import('../files/index.js')).filesStore(dir) },
  sqlite: {
    form: 'sqlite:FILE',
    make: async (file) => (await import('../sqlite/index.js')).openSqlite(file),
  },
  postgres: {
    form: 'postgres://HOST/DATABASE',
    make: async (place, dir) =>
      (await import('../postgres/index.js')).openPostgres(`postgres:${place}`, {
        spillDir: resolve(dir, 'data/spill'),
      }),
  },
}

/** Other names of schemes. */
const SCHEME_ALIASES: Record<string, string> = { postgresql: 'postgres' }

const URL_FORMATS = Object.values(BACKENDS)
  .map(({ form }) => form)
  .join(', ')

const createUrlError = (what: string): HoldfastError =>
  new HoldfastError('INVALID_OPTIONS', `store ${what}; it takes ${URL_FORMATS}`)

/**
 * Opens the store that a url names: `memory`, `files:DIR`, `sqlite:FILE` or `postgres://HOST/DATABASE`, which needs the package `pg`. Relative places begin at `dir`; folders are
 * made. A url that is not understood is INVALID_OPTIONS, a place that cannot be used STORE_UNAVAILABLE. Close it when
 * you are done.
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
  const [, input = '', place = ''] = /^([a-z][a-z0-9+.-]*)(?::(.*))?$/is.exec(url) ?? []
  const scheme = Object.hasOwn(SCHEME_ALIASES, input) ? (SCHEME_ALIASES[input] as string) : input
  const found = Object.hasOwn(BACKENDS, scheme) ? BACKENDS[scheme] : undefined
  // Whatever follows the scheme may hold a password, so it is not repeated.
  if (found === undefined)
    throw createUrlError(scheme === '' ? 'has no scheme' : `has the unknown scheme '${scheme}:'`)
  if (scheme === 'memory' ? place !== '' : place === '')
    throw createUrlError(`'${scheme}:' names ${place === '' ? 'no place' : 'a place, and memory has none'}`)
  const store = await found.make(isAbsolute(place) ? place : resolve(dir, place), dir)
  await store.open()
  return store
}
