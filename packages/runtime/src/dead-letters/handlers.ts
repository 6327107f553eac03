import { pathToFileURL } from 'node:url'
import { type Attempt, HoldfastError } from 'holdfast'
import { callable, check, text } from '../check.js'
import type { CallOptions } from '../face.js'
import type { DeadLetter } from '../records/dead-letter.js'

/**
 * Does again what an entry failed at. `entry.idempotencyKey` is the same for every replay of it: hand it to the target, and
 * a replay that is repeated after a crash changes nothing there. Each attempt gets a copy of the payload.
 */
export type DeadLetterHandler = (payload: never, entry: DeadLetter, attempt: Attempt) => unknown

/** Runs a function under the entry's operation: its retries, deadlines and breaker. */
export type Through = <T>(
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: Pick<CallOptions, 'service' | 'pool' | 'policy'>,
) => Promise<T>

/** A whole replay. What it does through `through` is under the operation's guard, the rest is not. */
export type Replayer = (entry: DeadLetter, through: Through) => Promise<unknown>

/** A handler as a replay: all of it is under the guard. */
const replayerOf =
  (handler: DeadLetterHandler): Replayer =>
  (entry, through) =>
    through((attempt) => handler(structuredClone(entry.originalPayload) as never, entry, attempt))

const isHandler = (value: unknown): value is DeadLetterHandler => typeof value === 'function'

/** The handlers of a module: its exports that are functions, and those of an object that is its default export. */
function handlersIn(module: Record<string, unknown>, file: string): Map<string, Replayer> {
  const { default: rest, ...named } = module
  const found = new Map<string, Replayer>()
  for (const [operation, value] of Object.entries(named))
    if (isHandler(value)) found.set(operation, replayerOf(value))
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
    found.set(operation, replayerOf(value))
  }
  return found
}

/** Who replays what: handlers registered in code first, then those of the module. */
export class Handlers {
  private readonly own = new Map<string, Replayer>()
  private loaded: { readonly file: string; readonly handlers: Promise<Map<string, Replayer>> } | undefined =
    undefined
  private readonly file: () => string | undefined

  constructor(file: () => string | undefined) {
    this.file = file
  }

  /** A later handler of the same operation takes the place of an earlier one. @throws INVALID_OPTIONS */
  handle(operation: string, handler: DeadLetterHandler): void {
    check('a handler cannot be registered', { operation, handler }, { operation: text, handler: callable })
    this.register(operation, replayerOf(handler))
  }

  register(operation: string, replayer: Replayer): void {
    this.own.set(operation, replayer)
  }

  /** @throws CONFIG_INVALID where the module cannot be loaded */
  async find(operation: string): Promise<Replayer | undefined> {
    return this.own.get(operation) ?? (await this.module()).get(operation)
  }

  /** The operations that have one. */
  async operations(): Promise<string[]> {
    return [...new Set([...this.own.keys(), ...(await this.module()).keys()])]
  }

  private module(): Promise<Map<string, Replayer>> {
    const file = this.file()
    if (file === undefined) return Promise.resolve(new Map())
    if (this.loaded?.file !== file) {
      const handlers = load(file)
      this.loaded = { file, handlers }
      // One that could not be loaded is tried again with the next replay.
      handlers.catch(() => {
        if (this.loaded?.handlers === handlers) this.loaded = undefined
      })
    }
    return this.loaded.handlers
  }
}

async function load(file: string): Promise<Map<string, Replayer>> {
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
  return handlersIn(module, file)
}
