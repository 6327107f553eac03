import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { Holdfast, type ValueStore } from '@holdfast/runtime'
import type { Config } from '@holdfast/runtime/config'
import { buildApp } from '../../app/build-app.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { currentActor } from './actor.js'
import { type ApiBackend, type StoreAccess, toRequestInit, urlFor } from './api.js'
import { displayPath, loadFile } from './file.js'

/** Where a file that names no store keeps its records. */
const DEFAULT_STORE = 'sqlite:data/holdfast.db'

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Mutable<T[K]> : T[K] }

/** The store of a config, with a place that holds from any folder. */
export function resolveStore(config: Config, dir: string): { url: string; exists: boolean; memory: boolean } {
  const said = config.store ?? DEFAULT_STORE
  const [, scheme = '', place = ''] = /^([a-z][a-z0-9+.-]*):?(.*)$/is.exec(said) ?? []
  if (scheme === 'memory') return { url: said, exists: false, memory: true }
  if (scheme !== 'sqlite' && scheme !== 'files') return { url: said, exists: true, memory: false }
  const path = isAbsolute(place) ? place : resolve(dir, place)
  return { url: `${scheme}:${path}`, exists: existsSync(path), memory: false }
}

/**
 * A config as a command on the store goes by it. Breakers that outlive a process belong to the one that makes calls: this
 * one would write down, at its end, what they were when it began.
 */
function withoutPersistence(config: Config, dir: string): Config {
  const copy = structuredClone(config) as Mutable<Config>
  for (const breaker of Object.values(copy.circuitBreakers ?? {})) delete breaker.persistState
  for (const pool of Object.values(copy.pools ?? {}))
    if (pool.circuitBreaker) delete pool.circuitBreaker.persistState
  if (copy.deadLetters?.handlers !== undefined)
    copy.deadLetters.handlers = resolve(dir, copy.deadLetters.handlers)
  if (copy.errorLog?.dir !== undefined) copy.errorLog.dir = resolve(dir, copy.errorLog.dir)
  delete copy.store
  delete copy.shared
  return copy as Config
}

/** A runtime over the store that the file names, for commands that run while no server does, or beside one. */
export async function openRuntime(
  context: CommandContext,
  { canWrite = false, anyStore = false }: StoreAccess,
): Promise<Holdfast> {
  const { checked, dir, file } = await loadFile(context)
  const { config } = checked
  const { url, exists, memory } = resolveStore(config, dir)
  if (memory && !anyStore)
    throw new CommandFailure(
      EXIT_CODES.unreachable,
      `${displayPath(context, file)} keeps its records in memory, so there is nothing outside the process that has them`,
      {
        code: 'STORE_UNAVAILABLE',
        hint: 'ask that process with --url, or set store: sqlite:data/holdfast.db',
      },
    )
  return Holdfast.open({
    config: withoutPersistence(config, dir),
    // Looking must not leave anything behind.
    store: canWrite || exists ? url : 'memory',
    env: {},
    watch: false,
  })
}

/** Whoever can read the store needs no token for it. */
const NO_TOKENS: ValueStore = {
  get: async () => undefined,
  set: async () => {},
  delete: async () => {},
  list: async () => [],
}

/** The same API as a server's, in this process and over the store. */
export async function createLocalApi(context: CommandContext, access: StoreAccess): Promise<ApiBackend> {
  const hf = await openRuntime(context, access)
  const store = Object.create(hf.store, { values: { value: NO_TOKENS } }) as Holdfast['store']
  const open = Object.create(hf, { store: { value: store } }) as Holdfast
  const { app, close } = buildApp(
    open,
    { dashboard: false },
    { name: currentActor(), role: 'admin', token: false },
  )
  return {
    isRemote: false,
    send: async (method, path, asking = {}) =>
      app.request(`http://localhost${urlFor(path, asking.query)}`, toRequestInit(method, asking)),
    async close() {
      await close()
      await hf.close()
    },
  }
}
