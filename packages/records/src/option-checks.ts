import { HoldfastError } from 'holdfast'
import { suggest } from './suggest.js'

const formatValue = (value: unknown): string => {
  if (typeof value === 'string') return value === '' ? 'an empty text' : JSON.stringify(value.slice(0, 40))
  if (value === null || typeof value !== 'object')
    return typeof value === 'function' ? 'a function' : `${String(value)}`
  if (value instanceof Date) return String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** What an option takes, and whether a value is that. */
export type OptionCheck = readonly [takes: string, fits: (value: unknown) => boolean]

/** A text with something in it. */
export const nonEmptyString: OptionCheck = [
  'a text that is not empty',
  (value) => typeof value === 'string' && value !== '',
]
/** Any text. */
export const anyString: OptionCheck = ['a text', (value) => typeof value === 'string']
/** An instant. */
export const validDate: OptionCheck = [
  'a Date',
  (value) => value instanceof Date && !Number.isNaN(value.getTime()),
]
/** A whole number from 0. */
export const nonNegativeInteger: OptionCheck = [
  'a whole number from 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
]
/** A whole number from 1. */
export const positiveInteger: OptionCheck = [
  'a whole number from 1',
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
]
/** A whole number from 1, or Infinity. */
export const countOrInfinity: OptionCheck = [
  `${positiveInteger[0]}, or Infinity`,
  (value) => value === Number.POSITIVE_INFINITY || positiveInteger[1](value),
]
/** A finite number above 0. */
export const positiveNumber: OptionCheck = [
  'a number above 0',
  (value) => Number.isFinite(value) && (value as number) > 0,
]
/** A function. */
export const anyFunction: OptionCheck = ['a function', (value) => typeof value === 'function']
/** True or false. */
export const anyBoolean: OptionCheck = ['true or false', (value) => typeof value === 'boolean']
/** A signal. */
export const abortSignal: OptionCheck = ['an AbortSignal', (value) => value instanceof AbortSignal]

type OptionChecks = Readonly<Record<string, OptionCheck>>

/** Who asks, and why. */
export const ACTOR_CHECKS: OptionChecks = { by: anyString, reason: anyString }

/** What a list can be asked for besides what its items are like. */
export const PAGE_CHECKS: OptionChecks = {
  limit: countOrInfinity,
  cursor: anyString,
  order: ["'oldest' or 'newest'", (value) => value === 'oldest' || value === 'newest'],
}

/**
 * Throws one INVALID_OPTIONS that lists every option that is wrong, and every one that does not exist: what is misspelt
 * would count as absent. Those that are undefined do, unless they are needed.
 */
export function checkOptions(
  subject: string,
  input: unknown,
  required: OptionChecks,
  optional: OptionChecks = {},
): void {
  const problems: string[] = []
  if (typeof input !== 'object' || input === null) problems.push(`got ${formatValue(input)}, takes an object`)
  else {
    const options = input as Record<string, unknown>
    for (const [name, [expected, isValid]] of Object.entries(required))
      if (!isValid(options[name]))
        problems.push(`${name}: got ${formatValue(options[name])}, takes ${expected}`)
    for (const [name, [expected, isValid]] of Object.entries(optional))
      if (options[name] !== undefined && !isValid(options[name]))
        problems.push(`${name}: got ${formatValue(options[name])}, takes ${expected}`)
    const known = [...Object.keys(required), ...Object.keys(optional)]
    for (const name of Object.keys(options))
      if (!known.includes(name)) problems.push(unknownOptionProblem(name, known))
  }
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `${subject}: ${problems.join('; ')}`, { details: problems })
}

function unknownOptionProblem(name: string, known: readonly string[]): string {
  const suggestion = suggest(name, known)
  const hint = suggestion === undefined ? `there are ${known.join(', ')}` : `did you mean ${suggestion}?`
  return `${name.slice(0, 40)}: there is no such option; ${hint}`
}
