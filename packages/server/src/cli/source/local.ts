import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { Holdfast, type ValueStore } from '@holdfast/runtime'
import type { Config } from '@holdfast/runtime/config'
import { buildApp } from '../../build-app.js'
import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { actor } from './actor.js'
import { type Api, addressOf, requestOf, type StoreAccess } from './api.js'
import { calledHere, loadFile } from './file.js'

/** Where a file that names no store keeps its records. */
const DEFAULT_STORE = 'sqlite:data/holdfast.db'

type Draft<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Draft<T[K]> : T[K] }

/** The store of a config, with a place that holds from any folder. */
export function storeOf(config: Config, dir: string): { url: string; exists: boolean; memory: boolean } {
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
function forCommand(config: Config, dir: string): Config {
  const copy = structuredClone(config) as Draft<Config>
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
export async function openStored(
  context: Context,
  { writes = false, anyStore = false }: StoreAccess,
): Promise<Holdfast> {
  const { checked, dir, file } = await loadFile(context)
  const { config } = checked
  const { url, exists, memory } = storeOf(config, dir)
  if (memory && !anyStore)
    throw new CommandFailure(
      EXIT.unreachable,
      `${calledHere(context, file)} keeps its records in memory, so there is nothing outside the process that has them`,
      {
        code: 'STORE_UNAVAILABLE',
        hint: 'ask that process with --url, or set store: sqlite:data/holdfast.db',
      },
    )
  return Holdfast.open({
    config: forCommand(config, dir),
    // Looking must not leave anything behind.
    store: writes || exists ? url : 'memory',
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
export async function local(context: Context, access: StoreAccess): Promise<Api> {
  const hf = await openStored(context, access)
  const store = Object.create(hf.store, { values: { value: NO_TOKENS } }) as Holdfast['store']
  const open = Object.create(hf, { store: { value: store } }) as Holdfast
  const { app, close } = buildApp(open, { dashboard: false }, { name: actor(), role: 'admin', token: false })
  return {
    remote: false,
    send: async (method, path, asking = {}) =>
      app.request(`http://localhost${addressOf(path, asking.query)}`, requestOf(method, asking)),
    async close() {
      await close()
      await hf.close()
    },
  }
}
