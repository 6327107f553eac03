import { parseDuration } from './duration.js'
import { HoldfastError } from './errors.js'

/** What an option takes, in words, whether a value is that, and how it is brought into the engine's form before. */
export type OptionRule = readonly [
  takes: string,
  fits: (value: never) => unknown,
  convert?: ((value: unknown) => unknown) | undefined,
]

/** For each option what it is where it is not given, and its rule. */
export type OptionSpec = { readonly [name: string]: readonly [standard: unknown, rule: OptionRule] }

/** Options with every one of them given. */
export type Filled<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }

/** A spec for each option of an interface. */
export type OptionSpecOf<T> = { readonly [K in keyof T]-?: readonly [standard: unknown, rule: OptionRule] }

const isInteger = Number.isSafeInteger

/** A whole number from 0. */
export const nonNegativeInteger: OptionRule = [
  'a whole number from 0',
  (value: number) => isInteger(value) && value >= 0,
]

/** A whole number from 1. */
export const positiveInteger: OptionRule = [
  'a whole number from 1',
  (value: number) => isInteger(value) && value > 0,
]

/** A whole number from 1, or Infinity. */
export const countOrInfinity: OptionRule = [
  `${positiveInteger[0]}, or Infinity`,
  (value: number) => value === Infinity || (positiveInteger[1] as typeof isInteger)(value),
]

/** A number from 1. */
export const atLeastOne: OptionRule = [
  'a number from 1',
  (value: unknown) => typeof value === 'number' && value >= 1,
]

/** A finite number from 0. */
export const nonNegativeNumber: OptionRule = [
  'a number from 0',
  (value: number) => Number.isFinite(value) && value >= 0,
]

/** A number from 0 to 1. */
export const fraction: OptionRule = [
  'a number from 0 to 1',
  (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
]

/** A number above 0, up to 1. */
export const positiveFraction: OptionRule = [
  'a number above 0, up to 1',
  (value: unknown) => typeof value === 'number' && value > 0 && value <= 1,
]

const DURATION_FORMAT = "in milliseconds or as '500ms', '30s', '5m', '24h', '30d'"

/** A duration of 0 or more; Infinity is one. */
export const nonNegativeDuration: OptionRule = [
  `a duration of 0 or more, ${DURATION_FORMAT}`,
  (ms: number) => ms >= 0,
  parseDuration,
]

/** A finite duration above 0. */
export const positiveDuration: OptionRule = [
  `a duration above 0, ${DURATION_FORMAT}`,
  (ms: number) => ms > 0 && ms < Infinity,
  parseDuration,
]

/** A deadline: a duration above 0; Infinity means none. */
export const durationOrInfinity: OptionRule = [
  `${positiveDuration[0]}, or Infinity for none`,
  (ms: number) => ms > 0,
  parseDuration,
]

/** One of a few words. */
export const oneOf = (...values: string[]): OptionRule => [
  `one of ${values.join(', ')}`,
  (value: string) => values.includes(value),
]

/** A value of a type of JavaScript's. */
export const ofType = (name: 'function' | 'boolean' | 'string' | 'object'): OptionRule => [
  `${name === 'object' ? 'an' : 'a'} ${name}`,
  (value: unknown) => value !== null && typeof value === name,
]

/** What either of two rules takes. */
export const anyOf = ([a, isA, convert]: OptionRule, [b, isB]: OptionRule): OptionRule => [
  `${a}, or ${b}`,
  (value: never) => isA(value) || isB(value),
  convert,
]

/** A clock of the user's. */
export const clockOption: OptionRule = [
  'a Clock with now, wall, setTimer and clearTimer',
  (value: Record<string, unknown>) =>
    ['now', 'wall', 'setTimer', 'clearTimer'].every((name) => value?.[name]),
]

/** What a spec says where nothing is given. */
export const defaultsOf = (spec: OptionSpec): object =>
  Object.freeze(Object.fromEntries(Object.entries(spec).map(([name, [standard]]) => [name, standard])))

/** A value in a few characters, for messages. */
export function formatValue(value: unknown): string {
  // Addresses may come with a password.
  if (typeof value === 'string') return JSON.stringify(value.replace(/\/\/.*@/s, '//***@').slice(0, 40))
  if (Array.isArray(value))
    return value.length > 0 && value.every((item) => Object(item) !== item)
      ? `[${value.slice(0, 5).map(formatValue).join(', ')}${value.length > 5 ? ', …' : ''}]`
      : 'an array'
  return Object(value) === value ? `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}` : String(value)
}

/** Describes an option whose value is not the expected one. */
export const optionProblem = (path: string, expected: string, value: unknown): string =>
  `${path}: expected ${expected}, got ${formatValue(value)}`

/**
 * Reads options over those of `defaults`, adding a sentence to `problems` for each that is wrong or unknown. An option that is
 * undefined counts as absent.
 */
export function parseOptions<T extends object>(
  path: string,
  input: unknown,
  defaults: T,
  spec: OptionSpec,
  problems: string[],
): T {
  const result = { ...defaults } as Record<string, unknown>
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    problems.push(optionProblem(path || 'options', 'an object', input))
    return result as T
  }
  for (const [name, value] of Object.entries(input as object)) {
    if (value === undefined) continue
    const optionPath = path === '' ? name : `${path}.${name}`
    const [expected, isValid, convert] = (Object.hasOwn(spec, name) && spec[name]?.[1]) || []
    const converted = convert ? convert(value) : value
    if (isValid?.(converted as never)) result[name] = converted
    else
      problems.push(
        expected === undefined
          ? `${optionPath}: expected one of ${Object.keys(spec).join(', ')}, got an unknown option`
          : optionProblem(optionPath, expected, value),
      )
  }
  return result as T
}

/** Adds a problem where one option is less than another that it must reach. */
export function requireAtLeast(
  name: string,
  value: number,
  minimumName: string,
  minimum: number,
  problems: string[],
): void {
  if (value < minimum) problems.push(optionProblem(name, `at least ${minimumName} (${minimum})`, value))
}

/** Throws one INVALID_OPTIONS that lists every problem; nothing where there is none. */
export function throwIfInvalid(subject: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `invalid options of ${subject}: ${problems.join('; ')}`, {
      details: problems,
    })
}
