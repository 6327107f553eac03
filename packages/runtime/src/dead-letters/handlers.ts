import { pathToFileURL } from 'node:url'
import { anyFunction, checkOptions, type DeadLetter, nonEmptyString } from '@holdfast/records'
import { type Attempt, HoldfastError } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import { replayPayloadOf } from './entry.js'

/**
 * Repeats the work of an entry. `entry.idempotencyKey` is the same for every replay of the entry: pass it to the target, so
 * that a replay that is repeated after a crash has no further effect. Each attempt gets a copy of the payload.
 */
export type DeadLetterHandler = (payload: never, entry: DeadLetter, attempt: Attempt) => unknown

/** Runs a function under the entry's operation, with its retries, deadlines and breaker. */
export type RunGuarded = (
  fn: (attempt: Attempt) => unknown,
  options?: Pick<CallOptions<unknown>, 'service' | 'pool' | 'policy' | 'fallback'>,
) => Promise<unknown>

/** A complete replay. Only the part that it passes to `through` runs under the operation's guard. */
export type ReplayFunction = (entry: DeadLetter, through: RunGuarded) => Promise<unknown>

/** Converts a handler to a replay that runs completely under the guard. */
const toReplayFunction =
  (handler: DeadLetterHandler): ReplayFunction =>
  (entry, through) =>
    through((attempt) => handler(structuredClone(replayPayloadOf(entry)) as never, entry, attempt))

const isHandler = (value: unknown): value is DeadLetterHandler => typeof value === 'function'

/** The handlers of a module: its exported functions, and those of an object that is its default export. */
function handlersOfModule(module: Record<string, unknown>, file: string): Map<string, ReplayFunction> {
  const { default: rest, ...named } = module
  const found = new Map<string, ReplayFunction>()
  for (const [operation, value] of Object.entries(named))
    if (isHandler(value)) found.set(operation, toReplayFunction(value))
  if (rest === undefined) return found
  if (typeof rest !== 'object' || rest === null)
    throw new HoldfastError(
      'CONFIG_INVALID',
      `dead_letters.handlers: expected the default export of ${file} to be an object of handlers, keyed by operation`,
    )
  for (const [operation, value] of Object.entries(rest)) {
    if (!isHandler(value))
      throw new HoldfastError(
        'CONFIG_INVALID',
        `dead_letters.handlers: expected ${operation} in ${file} to be a function`,
      )
    found.set(operation, toReplayFunction(value))
  }
  return found
}

/** The handlers by operation. Handlers registered in code take precedence over those of the module. */
export class HandlerRegistry {
  private readonly registered = new Map<string, ReplayFunction>()
  private loadedModule:
    | { readonly file: string; readonly handlers: Promise<Map<string, ReplayFunction>> }
    | undefined = undefined
  private readonly file: () => string | undefined

  constructor(file: () => string | undefined) {
    this.file = file
  }

  /** A later handler of the same operation replaces an earlier one. @throws INVALID_OPTIONS */
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

  /** The operations that have a handler. */
  async operations(): Promise<string[]> {
    return [...new Set([...this.registered.keys(), ...(await this.loadModule()).keys()])]
  }

  private loadModule(): Promise<Map<string, ReplayFunction>> {
    const file = this.file()
    if (file === undefined) return Promise.resolve(new Map())
    if (this.loadedModule?.file !== file) {
      const handlers = importHandlers(file)
      this.loadedModule = { file, handlers }
      // A module that could not be loaded is loaded again with the next replay.
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
