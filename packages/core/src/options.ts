import { parseDuration } from './duration.js'
import { HoldfastError } from './errors.js'

// Functions that create rules and defaults of options when a module is loaded are marked as free of side effects. A bundler
// then leaves out the options that a program does not use.

/** The expected value of an option in words, a check of the value, and a conversion that is applied before the check. */
export type OptionRule = readonly [
  expected: string,
  isValid: (value: never) => unknown,
  convert?: ((value: unknown) => unknown) | undefined,
]

/** The default value and the rule of each option. */
export type OptionSpec = { readonly [name: string]: readonly [defaultValue: unknown, rule: OptionRule] }

/** Options with a value for each of them. */
export type Filled<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }

/** An {@link OptionSpec} that has an entry for each option of an interface. */
export type OptionSpecOf<T> = {
  readonly [K in keyof T]-?: readonly [defaultValue: unknown, rule: OptionRule]
}

const isInteger = (value: unknown): boolean => Number.isSafeInteger(value)

export const nonNegativeInteger: OptionRule = [
  'a whole number from 0',
  (value: number) => isInteger(value) && value >= 0,
]

export const positiveInteger: OptionRule = [
  'a whole number from 1',
  (value: number) => isInteger(value) && value > 0,
]

export const countOrInfinity: OptionRule = [
  'a whole number from 1, or Infinity',
  (value: number) => value === Infinity || (isInteger(value) && value > 0),
]

export const atLeastOne: OptionRule = [
  'a number from 1',
  (value: unknown) => typeof value === 'number' && value >= 1,
]

export const nonNegativeNumber: OptionRule = [
  'a number from 0',
  (value: number) => Number.isFinite(value) && value >= 0,
]

export const fraction: OptionRule = [
  'a number from 0 to 1',
  (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
]

export const positiveFraction: OptionRule = [
  'a number above 0, up to 1',
  (value: unknown) => typeof value === 'number' && value > 0 && value <= 1,
]

/** The rule of a duration; `range` and `alternative` describe the valid ones. */
// @__NO_SIDE_EFFECTS__
export function createDurationRule(
  range: string,
  isValid: (ms: number) => boolean,
  alternative = '',
): OptionRule {
  return [
    `a duration ${range}, in milliseconds or as '500ms', '30s', '5m', '24h', '30d'${alternative}`,
    isValid,
    parseDuration,
  ]
}

/** A duration of 0 or more, Infinity included. */
export const nonNegativeDuration: OptionRule = createDurationRule('of 0 or more', (ms) => ms >= 0)

/** A finite duration above 0. */
export const positiveDuration: OptionRule = createDurationRule('above 0', (ms) => ms > 0 && ms < Infinity)

/** A timeout: a duration above 0, or Infinity for no timeout. */
export const durationOrInfinity: OptionRule = createDurationRule(
  'above 0',
  (ms) => ms > 0,
  ', or Infinity for none',
)

// @__NO_SIDE_EFFECTS__
export function oneOf(values: readonly string[]): OptionRule {
  return [`one of ${values.join(', ')}`, (value: string) => values.includes(value)]
}

/** A value with that `typeof`; null is not an object. */
// @__NO_SIDE_EFFECTS__
export function ofType(name: 'function' | 'boolean' | 'string' | 'object'): OptionRule {
  return [
    `${name === 'object' ? 'an' : 'a'} ${name}`,
    (value: unknown) => value !== null && typeof value === name,
  ]
}

/** A value that one of two rules accepts. Only the first can have a conversion. */
// @__NO_SIDE_EFFECTS__
export function anyOf([a, isA, convert]: OptionRule, [b, isB]: OptionRule): OptionRule {
  return [`${a}, or ${b}`, (value: never) => isA(value) || isB(value), convert]
}

/** A user's clock. */
export const clockOption: OptionRule = [
  'a Clock with now, wall, setTimer and clearTimer',
  (value: Record<string, unknown>) =>
    ['now', 'wall', 'setTimer', 'clearTimer'].every((name) => typeof value?.[name] === 'function'),
]

/** The default values of a spec. */
// @__NO_SIDE_EFFECTS__
export function defaultsOf(spec: OptionSpec): object {
  return Object.freeze(
    Object.fromEntries(Object.entries(spec).map(([name, [defaultValue]]) => [name, defaultValue])),
  )
}

/** Formats a value in a few characters, for messages. */
export function formatValue(value: unknown): string {
  // A URL can contain a password.
  if (typeof value === 'string') return JSON.stringify(value.replace(/\/\/.*@/s, '//***@').slice(0, 40))
  if (Array.isArray(value))
    return value.length > 0 && value.every((item) => Object(item) !== item)
      ? `[${value.slice(0, 5).map(formatValue).join(', ')}${value.length > 5 ? ', …' : ''}]`
      : 'an array'
  return Object(value) === value ? `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}` : String(value)
}

/** What is wrong with an option, as data. {@link formatProblem} words it where it is displayed. */
export interface OptionProblem {
  /** The names that lead to the option; empty for the options as a whole. */
  readonly path: string
  readonly code: 'invalid' | 'unknown' | 'conflict'
  /** The expected value, in words. */
  readonly expected: string
  /** The given value in a few characters, without credentials. */
  readonly got: string
}

/** Words a problem. */
export const formatProblem = ({ path, expected, got }: OptionProblem): string =>
  `${path && `${path}: `}expected ${expected}, got ${got}`

export const createProblem = (
  path: string,
  code: OptionProblem['code'],
  expected: string,
  got: string,
): OptionProblem => ({ path, code, expected, got })

/** The problem of an option whose value is not the expected one. */
export const optionProblem = (path: string, expected: string, value: unknown): OptionProblem =>
  createProblem(path, 'invalid', expected, formatValue(value))

/**
 * Returns `defaults` with the given options in place of theirs, and adds a problem to `problems` for each option that is
 * invalid or unknown. An option that is undefined counts as absent.
 */
export function parseOptions<T extends object>(
  path: string,
  input: unknown,
  defaults: T,
  spec: OptionSpec,
  problems: OptionProblem[],
): T {
  const result = { ...defaults } as Record<string, unknown>
  const prefix = path && `${path}.`
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    problems.push(optionProblem(path || 'options', 'an object', input))
    return result as T
  }
  for (const [name, value] of Object.entries(input as object)) {
    if (value === undefined) continue
    const optionPath = prefix + name
    const [expected, isValid, convert] = (Object.hasOwn(spec, name) && spec[name]?.[1]) || []
    const converted = convert ? convert(value) : value
    if (isValid?.(converted as never)) result[name] = converted
    else
      problems.push(
        expected === undefined
          ? createProblem(optionPath, 'unknown', oneOf(Object.keys(spec))[0], 'an unknown option')
          : optionProblem(optionPath, expected, value),
      )
  }
  return result as T
}

/** Adds a problem where one option is less than another. */
export function requireAtLeast(
  name: string,
  value: number,
  minimumName: string,
  minimum: number,
  problems: OptionProblem[],
): void {
  if (value < minimum)
    problems.push(createProblem(name, 'conflict', `at least ${minimumName} (${minimum})`, `${value}`))
}

/** Creates INVALID_OPTIONS that lists every problem: as sentences in its message and `details`, as data in `problems`. */
export function createOptionsError(
  subject: string,
  problems: readonly OptionProblem[],
): HoldfastError<'INVALID_OPTIONS'> & { readonly problems: readonly OptionProblem[] } {
  const details = problems.map(formatProblem)
  return Object.assign(
    new HoldfastError('INVALID_OPTIONS', `${subject}: ${details.join('; ')}`, { details }),
    { problems },
  )
}

/** Throws one INVALID_OPTIONS that lists every problem. Does nothing where there is none. */
export function throwIfInvalid(subject: string, problems: readonly OptionProblem[]): void {
  if (problems.length > 0) throw createOptionsError(`invalid options of ${subject}`, problems)
}
