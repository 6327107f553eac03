import { pathToFileURL } from 'node:url'
import { anyFunction, checkOptions, type DeadLetter, nonEmptyString } from '@holdfast/records'
import { type Attempt, HoldfastError } from 'holdfast'
import type { CallOptions } from '../api-types.js'

/**
 * Does again what an entry failed at. `entry.idempotencyKey` is the same for every replay of it: hand it to the target, and
 * a replay that is repeated after a crash changes nothing there. Each attempt gets a copy of the payload.
 */
export type DeadLetterHandler = (payload: never, entry: DeadLetter, attempt: Attempt) => unknown

/** Runs a function under the entry's operation: its retries, deadlines and breaker. */
export type RunGuarded = <T>(
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: Pick<CallOptions, 'service' | 'pool' | 'policy'>,
) => Promise<T>

/** A whole replay. What it does through `through` is under the operation's guard, the rest is not. */
export type ReplayFunction = (entry: DeadLetter, through: RunGuarded) => Promise<unknown>

/** A handler as a replay: all of it is under the guard. */
const toReplayFunction =
  (handler: DeadLetterHandler): ReplayFunction =>
  (entry, through) =>
    through((attempt) => handler(structuredClone(entry.originalPayload) as never, entry, attempt))

const isHandler = (value: unknown): value is DeadLetterHandler => typeof value === 'function'

/** The handlers of a module: its exports that are functions, and those of an object that is its default export. */
function handlersOfModule(module: Record<string, unknown>, file: string): Map<string, ReplayFunction> {
  const { default: rest, ...named } = module
  const found = new Map<string, ReplayFunction>()
  for (const [operation, value] of Object.entries(named))
    if (isHandler(value)) found.set(operation, toReplayFunction(value))
  if (rest === undefined) return found
  if (typeof rest !== 'object' || rest === null)
    throw new HoldfastError(
      'CONFIG_INVALID',
      `dead_letters.handlers: the default export of ${file} is no object of handlers, keyed by operation`,
    )
  for (const [operation, value] of Object.entries(rest)) {
    if (!isHandler(value))
      throw new HoldfastError(
        'CONFIG_INVALID',
        `dead_letters.handlers: ${operation} in ${file} is no function`,
      )
    found.set(operation, toReplayFunction(value))
  }
  return found
}

/** Who replays what: handlers registered in code first, then those of the module. */
export class HandlerRegistry {
  private readonly registered = new Map<string, ReplayFunction>()
  private loadedModule:
    | { readonly file: string; readonly handlers: Promise<Map<string, ReplayFunction>> }
    | undefined = undefined
  private readonly file: () => string | undefined

  constructor(file: () => string | undefined) {
    this.file = file
  }

  /** A later handler of the same operation takes the place of an earlier one. @throws INVALID_OPTIONS */
  handle(operation: string, handler: DeadLetterHandler): void {
    checkOptions(
      'a handler cannot be registered',
      { operation, handler },
      { operation: nonEmptyString, handler: anyFunction },
    )
    this.register(operation, toReplayFunction(handler))
  }

  register(operation: string, replayer: ReplayFunction): void {
    this.registered.set(operation, replayer)
  }

  /** @throws CONFIG_INVALID where the module cannot be loaded */
  async find(operation: string): Promise<ReplayFunction | undefined> {
    return this.registered.get(operation) ?? (await this.loadModule()).get(operation)
  }

  /** The operations that have one. */
  async operations(): Promise<string[]> {
    return [...new Set([...this.registered.keys(), ...(await this.loadModule()).keys()])]
  }

  private loadModule(): Promise<Map<string, ReplayFunction>> {
    const file = this.file()
    if (file === undefined) return Promise.resolve(new Map())
    if (this.loadedModule?.file !== file) {
      const handlers = importHandlers(file)
      this.loadedModule = { file, handlers }
      // One that could not be loaded is tried again with the next replay.
      handlers.catch(() => {
        if (this.loadedModule?.handlers === handlers) this.loadedModule = undefined
      })
    }
    return this.loadedModule.handlers
  }
}

async function importHandlers(file: string): Promise<Map<string, ReplayFunction>> {
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (cause) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      `dead_letters.handlers: ${file} cannot be loaded: ${cause instanceof Error ? cause.message : 'unknown reason'}`,
      { cause },
    )
  }
  return handlersOfModule(module, file)
}
