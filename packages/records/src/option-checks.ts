import {
  countOrInfinity as countOrInfinityRule,
  createOptionsError,
  createProblem,
  nonEmptyString as nonEmptyStringRule,
  nonNegativeInteger as nonNegativeIntegerRule,
  type OptionProblem,
  ofType,
  optionProblem,
  parseOptions,
  positiveInteger as positiveIntegerRule,
} from 'holdfast/internal'
import { suggest } from './suggest.js'

/** The expected value of an option in words, and a check of the value. */
export type OptionCheck = readonly [expected: string, isValid: (value: unknown) => boolean]

/** Accepts a string that is not empty. */
export const nonEmptyString = nonEmptyStringRule as OptionCheck
/** Accepts a string. */
export const anyString = ofType('string') as OptionCheck
/** Accepts a Date with a valid time. */
export const validDate: OptionCheck = [
  'a valid Date',
  (value) => value instanceof Date && !Number.isNaN(value.getTime()),
]
/** Accepts a whole number from 0. */
export const nonNegativeInteger = nonNegativeIntegerRule as OptionCheck
/** Accepts a whole number from 1. */
export const positiveInteger = positiveIntegerRule as OptionCheck
/** Accepts a whole number from 1, or Infinity. */
export const countOrInfinity = countOrInfinityRule as OptionCheck
/** Accepts a finite number above 0. */
export const positiveNumber: OptionCheck = [
  'a number above 0',
  (value) => Number.isFinite(value) && (value as number) > 0,
]
/** Accepts a function. */
export const anyFunction = ofType('function') as OptionCheck
/** Accepts true and false. */
export const anyBoolean = ofType('boolean') as OptionCheck
/** Accepts an AbortSignal. */
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
  const checks = { ...required, ...optional }
  const problems: OptionProblem[] = []
  const spec = Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [name, [undefined, check]] as const),
  )
  parseOptions('', withInherited(input, Object.keys(checks)), {}, spec, problems)
  if (typeof input === 'object' && input !== null)
    for (const [name, [expected]] of Object.entries(required))
      if ((input as Record<string, unknown>)[name] === undefined)
        problems.push(optionProblem(name, expected, undefined))
  if (problems.length > 0)
    throw createOptionsError(
      subject,
      problems.map((problem) => withSuggestion(problem, Object.keys(checks))),
    )
}

/** Copies options together with the known ones that they inherit, which count too. */
const withInherited = (input: unknown, names: readonly string[]): unknown =>
  typeof input !== 'object' || input === null || Array.isArray(input)
    ? input
    : {
        ...Object.fromEntries(names.map((name) => [name, (input as Record<string, unknown>)[name]])),
        ...input,
      }

/** Adds the most similar name to the problem of an unknown option. */
function withSuggestion(problem: OptionProblem, names: readonly string[]): OptionProblem {
  if (problem.code !== 'unknown') return problem
  const { path, code, expected, got } = problem
  const suggestion = suggest(path, names)
  return createProblem(
    path.slice(0, 40),
    code,
    expected,
    suggestion === undefined ? got : `${got} (did you mean ${suggestion}?)`,
  )
}
