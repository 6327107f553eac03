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
import { clockOption } from 'holdfast/internal'
import type { CallOptions, OpenOptions } from './api-types.js'
import { requestOf, withRequest } from './request-call.js'

const anyObject: OptionCheck = ['an object', (value) => typeof value === 'object' && value !== null]
const objectOrFalse: OptionCheck = ['an object, or false', (value) => value === false || anyObject[1](value)]
const anyValue: OptionCheck = ['anything', () => true]

/** The check of each option of a call. */
export const CALL_CHECKS: Readonly<Record<keyof CallOptions, OptionCheck>> = {
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
  retry: objectOrFalse,
  timeout: objectOrFalse,
  fallback: anyFunction,
  name: anyString,
  signal: [
    'an AbortSignal',
    (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
  ],
}

/** Rejects a value that is not an operation name. @throws INVALID_OPTIONS */
export const checkOperation = (operation: unknown): void =>
  checkOptions(
    'the call cannot be made',
    { operation },
    { operation: ['a name such as browser.save', nonEmptyString[1]] },
  )

/** The options whose empty string means that the option is absent. */
const EMPTY_MEANS_ABSENT: ReadonlySet<string> = new Set(['correlationId', 'itemId', 'idempotencyKey', 'name'])

/** Whether an option counts as absent. */
export const isAbsent = (name: string, value: unknown): boolean =>
  value === undefined || (value === '' && EMPTY_MEANS_ABSENT.has(name))

/** The fields of `retry` and `timeout` that mean the same as `false`. */
const DISABLED = { retry: { maxAttempts: 1 }, timeout: { attempt: Infinity, total: Infinity } }

/**
 * Merges `retry` or `timeout` of a call over that of a guard or fetch, field by field: an undefined field keeps its default, and
 * `false` replaces all of them. A value that is not an object is returned unchanged, because it is rejected later.
 */
export function mergeFields<T extends object>(
  name: keyof typeof DISABLED,
  defaults: T | false | undefined,
  options: T | false | undefined,
): T | false | undefined {
  if (options === undefined) return defaults
  if (defaults === undefined || Object(options) !== options) return options
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...(defaults === false ? (DISABLED[name] as T) : defaults), ...Object.fromEntries(given) }
}

/** Checks the options of a call and removes absent ones. @throws INVALID_OPTIONS */
export function parseCallOptions(
  options: CallOptions<unknown> | undefined,
): CallOptions<unknown> | undefined {
  if (options === undefined || isValid(options)) return options
  checkOptions('the call cannot be made', options, {}, CALL_CHECKS)
  const parsed: Record<string, unknown> = {}
  // Inherited options count too.
  for (const name in options)
    if (!isAbsent(name, options[name as never])) parsed[name] = options[name as never]
  return withRequest(parsed, requestOf(options))
}

/**
 * Whether options can be used unchanged. This check runs for every call and takes a tenth of the time of `checkOptions`.
 */
function isValid(options: unknown): boolean {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return false
  for (const name in options) {
    const value = options[name as never] as unknown
    if (!Object.hasOwn(CALL_CHECKS, name)) return false
    if (value !== undefined && !CALL_CHECKS[name as keyof CallOptions][1](value)) return false
    if (value === '' && EMPTY_MEANS_ABSENT.has(name)) return false
  }
  return true
}

/** Rejects an argument of a guard's method that is not a function. @throws INVALID_OPTIONS */
export const checkFunction = (method: string, input: unknown): void =>
  checkOptions('the guard cannot be used', { [method]: input }, { [method]: anyFunction })

/** Checks an actor before anything is changed. @throws INVALID_OPTIONS */
export function parseActor(input: unknown): Actor {
  if (input === undefined) return {}
  const { by, reason } = Object(input) as Actor
  checkOptions('the change cannot be made', anyObject[1](input) ? { by, reason } : input, {}, ACTOR_CHECKS)
  return input as Actor
}

/** Checks the function and the options of a call, and returns the options. @throws INVALID_OPTIONS */
export function parseCall(
  fn: unknown,
  options: CallOptions<unknown> | undefined,
): CallOptions<unknown> | undefined {
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
  clock: clockOption as OptionCheck,
  random: anyFunction,
  logger: ['a logger with debug, info, warn and error', hasMethods('debug', 'info', 'warn', 'error')],
  fallback: anyBoolean,
  watch: anyBoolean,
  env: anyObject,
}

/** Rejects unknown or wrong options of `Holdfast.open`. @throws INVALID_OPTIONS */
export const checkOpenOptions = (options: unknown): void =>
  checkOptions('Holdfast.open: expected a path or options', options, {}, OPEN_CHECKS)
