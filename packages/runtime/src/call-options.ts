import type { Actor } from '@holdfast/config'
import {
  ACTOR_CHECKS,
  anyBoolean,
  anyFunction,
  anyString,
  checkOptions,
  nonEmptyString,
  type OptionCheck,
} from '@holdfast/records'
import type { CallOptions, OpenOptions } from './api-types.js'

const anyObject: OptionCheck = ['an object', (value) => typeof value === 'object' && value !== null]
const anyValue: OptionCheck = ['anything', () => true]

const CALL_CHECKS: Readonly<Record<keyof CallOptions, OptionCheck>> = {
  context: anyObject,
  correlationId: anyString,
  itemId: anyString,
  payload: anyValue,
  idempotencyKey: anyString,
  service: anyString,
  pool: anyString,
  policy: [
    'the id of a policy, or its fields',
    (value) => typeof value === 'string' || (anyObject[1](value) && !Array.isArray(value)),
  ],
  retry: ['an object, or false', (value) => value === false || anyObject[1](value)],
  name: anyString,
  signal: [
    'an AbortSignal',
    (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
  ],
}

/** Refuses what no operation can be called. @throws INVALID_OPTIONS */
export const checkOperation = (operation: unknown): void =>
  checkOptions(
    'the call cannot be made',
    { operation },
    { operation: ['a name such as browser.save', nonEmptyString[1]] },
  )

/** Where an empty text says nothing: what is made, or the operation, takes its place. */
const EMPTY_MEANS_ABSENT: ReadonlySet<string> = new Set(['correlationId', 'itemId', 'idempotencyKey', 'name'])

/** Whether an option is as if it was not there. */
export const isAbsent = (name: string, value: unknown): boolean =>
  value === undefined || (value === '' && EMPTY_MEANS_ABSENT.has(name))

/** The options that a call goes by. @throws INVALID_OPTIONS for those that none can go by */
export function parseCallOptions(options: CallOptions | undefined): CallOptions | undefined {
  if (options === undefined || isValid(options)) return options
  checkOptions('the call cannot be made', options, {}, CALL_CHECKS)
  const parsed: Record<string, unknown> = {}
  // What options inherit counts too.
  for (const name in options)
    if (!isAbsent(name, options[name as never])) parsed[name] = options[name as never]
  return parsed
}

/** Whether options can be gone by as they are, in a tenth of the time: it is asked of every call. */
function isValid(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) {
    const value = options[name as never] as unknown
    if (!Object.hasOwn(CALL_CHECKS, name)) return false
    if (value !== undefined && !CALL_CHECKS[name as keyof CallOptions][1](value)) return false
    if (value === '' && EMPTY_MEANS_ABSENT.has(name)) return false
  }
  return true
}

/** Refuses what a method of a guard cannot be given. @throws INVALID_OPTIONS */
export const checkFunction = (method: string, input: unknown): void =>
  checkOptions('a guard cannot go by it', { [method]: input }, { [method]: anyFunction })

/** Who acted, checked before anything is changed. @throws INVALID_OPTIONS */
export function parseActor(input: unknown): Actor {
  if (input === undefined) return {}
  const { by, reason } = Object(input) as Actor
  checkOptions('the change cannot be made', anyObject[1](input) ? { by, reason } : input, {}, ACTOR_CHECKS)
  return input as Actor
}

/** The options of a call that can be made. @throws INVALID_OPTIONS for one that cannot */
export function parseCall(fn: unknown, options: CallOptions | undefined): CallOptions | undefined {
  if (typeof fn !== 'function') checkOptions('the call cannot be made', { fn }, { fn: anyFunction })
  return parseCallOptions(options)
}

const hasMethods =
  (...names: string[]) =>
  (value: unknown): boolean =>
    names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function')

const OPEN_CHECKS: Readonly<Record<keyof OpenOptions, OptionCheck>> = {
  config: ['a path, or an object', (value) => typeof value === 'string' || anyObject[1](value)],
  store: anyString,
  clock: [
    'a Clock with now, wall, setTimer and clearTimer',
    hasMethods('now', 'wall', 'setTimer', 'clearTimer'),
  ],
  random: anyFunction,
  logger: ['a logger with debug, info, warn and error', hasMethods('debug', 'info', 'warn', 'error')],
  fallback: anyBoolean,
  watch: anyBoolean,
  env: anyObject,
}

/** Refuses options that say nothing a runtime knows. @throws INVALID_OPTIONS */
export const checkOpenOptions = (options: unknown): void =>
  checkOptions('Holdfast.open cannot go by what it was given, a path or options', options, {}, OPEN_CHECKS)
