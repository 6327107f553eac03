import { ACTOR, type Check, callable, check, flag, text, words } from './check.js'
import type { CallOptions, OpenOptions } from './face.js'
import type { Actor } from './kit.js'

const object: Check = ['an object', (value) => typeof value === 'object' && value !== null]
const anything: Check = ['anything', () => true]

const CALL: Readonly<Record<keyof CallOptions, Check>> = {
  context: object,
  correlationId: words,
  itemId: words,
  payload: anything,
  idempotencyKey: words,
  service: words,
  pool: words,
  policy: [
    'the id of a policy, or its fields',
    (value) => typeof value === 'string' || (object[1](value) && !Array.isArray(value)),
  ],
  retry: ['an object, or false', (value) => value === false || object[1](value)],
  name: words,
  signal: [
    'an AbortSignal',
    (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
  ],
}

/** Refuses what no operation can be called. @throws INVALID_OPTIONS */
export const checkOperation = (operation: unknown): void =>
  check('the call cannot be made', { operation }, { operation: ['a name such as browser.save', text[1]] })

/** Where an empty text says nothing: what is made, or the operation, takes its place. */
const SAYING: ReadonlySet<string> = new Set(['correlationId', 'itemId', 'idempotencyKey', 'name'])

/** Whether an option is as if it was not there. */
export const isLeftOut = (name: string, value: unknown): boolean =>
  value === undefined || (value === '' && SAYING.has(name))

/** The options that a call goes by. @throws INVALID_OPTIONS for those that none can go by */
export function readCallOptions(options: CallOptions | undefined): CallOptions | undefined {
  if (options === undefined || isSound(options)) return options
  check('the call cannot be made', options, {}, CALL)
  const read: Record<string, unknown> = {}
  // What options inherit counts too.
  for (const name in options)
    if (!isLeftOut(name, options[name as never])) read[name] = options[name as never]
  return read
}

/** Whether options can be gone by as they are, in a tenth of the time: it is asked of every call. */
function isSound(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) {
    const value = options[name as never] as unknown
    if (!Object.hasOwn(CALL, name)) return false
    if (value !== undefined && !CALL[name as keyof CallOptions][1](value)) return false
    if (value === '' && SAYING.has(name)) return false
  }
  return true
}

/** Refuses what a method of a guard cannot be given. @throws INVALID_OPTIONS */
export const checkFunction = (method: string, given: unknown): void =>
  check('a guard cannot go by it', { [method]: given }, { [method]: callable })

/** Who acted, checked before anything is changed. @throws INVALID_OPTIONS */
export function actorOf(given: unknown): Actor {
  if (given === undefined) return {}
  const { by, reason } = Object(given) as Actor
  check('the change cannot be made', object[1](given) ? { by, reason } : given, {}, ACTOR)
  return given as Actor
}

/** The options of a call that can be made. @throws INVALID_OPTIONS for one that cannot */
export function readCall(fn: unknown, options: CallOptions | undefined): CallOptions | undefined {
  if (typeof fn !== 'function') check('the call cannot be made', { fn }, { fn: callable })
  return readCallOptions(options)
}

const methods =
  (...names: string[]) =>
  (value: unknown): boolean =>
    names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function')

const OPENING: Readonly<Record<keyof OpenOptions, Check>> = {
  config: ['a path, or an object', (value) => typeof value === 'string' || object[1](value)],
  store: words,
  clock: [
    'a Clock with now, wall, setTimer and clearTimer',
    methods('now', 'wall', 'setTimer', 'clearTimer'),
  ],
  random: callable,
  logger: ['a logger with debug, info, warn and error', methods('debug', 'info', 'warn', 'error')],
  fallback: flag,
  watch: flag,
  env: object,
}

/** Refuses options that say nothing a runtime knows. @throws INVALID_OPTIONS */
export const checkOpen = (options: unknown): void =>
  check('Holdfast.open cannot go by what it was given, a path or options', options, {}, OPENING)
