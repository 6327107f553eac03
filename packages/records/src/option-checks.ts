import { HoldfastError } from 'holdfast'
import { suggest } from './suggest.js'

const formatValue = (value: unknown): string => {
  if (typeof value === 'string') return value === '' ? 'an empty text' : JSON.stringify(value.slice(0, 40))
  if (value === null || typeof value !== 'object')
    return typeof value === 'function' ? 'a function' : `${String(value)}`
  if (value instanceof Date) return String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** The description of valid values of an option, and the check. */
export type OptionCheck = readonly [expected: string, isValid: (value: unknown) => boolean]

export const nonEmptyString: OptionCheck = [
  'a text that is not empty',
  (value) => typeof value === 'string' && value !== '',
]
export const anyString: OptionCheck = ['a text', (value) => typeof value === 'string']
export const validDate: OptionCheck = [
  'a Date',
  (value) => value instanceof Date && !Number.isNaN(value.getTime()),
]
export const nonNegativeInteger: OptionCheck = [
  'a whole number from 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
]
export const positiveInteger: OptionCheck = [
  'a whole number from 1',
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
]
export const countOrInfinity: OptionCheck = [
  `${positiveInteger[0]}, or Infinity`,
  (value) => value === Number.POSITIVE_INFINITY || positiveInteger[1](value),
]
export const positiveNumber: OptionCheck = [
  'a number above 0',
  (value) => Number.isFinite(value) && (value as number) > 0,
]
export const anyFunction: OptionCheck = ['a function', (value) => typeof value === 'function']
export const anyBoolean: OptionCheck = ['true or false', (value) => typeof value === 'boolean']
export const abortSignal: OptionCheck = ['an AbortSignal', (value) => value instanceof AbortSignal]

type OptionChecks = Readonly<Record<string, OptionCheck>>

/** The actor of a change, and the reason. */
export const ACTOR_CHECKS: OptionChecks = { by: anyString, reason: anyString }

/** The page options of all lists. */
export const PAGE_CHECKS: OptionChecks = {
  limit: countOrInfinity,
  cursor: anyString,
  order: ["'oldest' or 'newest'", (value) => value === 'oldest' || value === 'newest'],
}

/**
 * Checks options, including unknown names, because a misspelt option would count as absent. An undefined option counts as absent.
 *
 * @throws INVALID_OPTIONS that lists every problem
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
