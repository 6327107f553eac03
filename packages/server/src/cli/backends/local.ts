import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { Holdfast, type ValueStore } from '@holdfast/runtime'
import type { Config } from '@holdfast/runtime/config'
import { buildApp } from '../../app/build-app.js'
import { DEFAULT_STORE } from '../../defaults.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { currentActor } from './actor.js'
import { type ApiBackend, type StoreAccess, toRequestInit, urlFor } from './api.js'
import { displayPath, loadFile } from './file.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Mutable<T[K]> : T[K] }

/** The store of a config, with an absolute path. */
export function resolveStore(
  config: Config,
  dir: string,
): { url: string; isPresent: boolean; isMemory: boolean } {
  const store = config.store ?? DEFAULT_STORE
  const [, scheme = '', location = ''] = /^([a-z][a-z0-9+.-]*):?(.*)$/is.exec(store) ?? []
  if (scheme === 'memory') return { url: store, isPresent: false, isMemory: true }
  if (scheme !== 'sqlite' && scheme !== 'files') return { url: store, isPresent: true, isMemory: false }
  const path = isAbsolute(location) ? location : resolve(dir, location)
  return { url: `${scheme}:${path}`, isPresent: existsSync(path), isMemory: false }
}

/**
 * The config of a command that works on the store. Breakers are not persisted: the states belong to the process that makes
 * the calls, and this process would overwrite them at its end with older ones.
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

/** Opens a runtime on the store of the config file, for commands without a server. */
export async function openRuntime(
  context: CommandContext,
  { canWrite = false, canUseMemory = false }: StoreAccess,
): Promise<Holdfast> {
  const { checked, dir, file } = await loadFile(context)
  const { config } = checked
  const { url, isPresent, isMemory } = resolveStore(config, dir)
  if (isMemory && !canUseMemory)
    throw new CommandFailure(
      EXIT_CODES.unreachable,
      `${displayPath(context, file)} has store: memory, which other processes cannot read`,
      {
        code: 'STORE_UNAVAILABLE',
        hint: `connect to the process with --url, or set store: ${DEFAULT_STORE}`,
      },
    )
  return Holdfast.open({
    config: withoutPersistence(config, dir),
    // A command that only reads must not create a store.
    store: canWrite || isPresent ? url : 'memory',
    env: {},
    watch: false,
  })
}

/** A store without tokens: a user who can read the store needs none. */
const NO_TOKENS: ValueStore = {
  get: async () => undefined,
  set: async () => {},
  delete: async () => {},
  list: async () => [],
}

/** Creates the API of a server in this process, on the store. */
export async function createLocalApi(context: CommandContext, access: StoreAccess): Promise<ApiBackend> {
  const hf = await openRuntime(context, access)
  const store = Object.create(hf.store, { values: { value: NO_TOKENS } }) as Holdfast['store']
  const withoutTokens = Object.create(hf, { store: { value: store } }) as Holdfast
  const { app, close } = buildApp(
    withoutTokens,
    { dashboard: false },
    { name: currentActor(), role: 'admin', token: false },
  )
  return {
    isRemote: false,
    send: async (method, path, options = {}) =>
      app.request(`http://localhost${urlFor(path, options.query)}`, toRequestInit(method, options)),
    async close() {
      await close()
      await hf.close()
    },
  }
}
