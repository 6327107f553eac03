import { toSeconds } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import { formatKeyAs, type KeyStyle } from '../schema/walk.js'
import { withoutCredentials } from './format-value.js'
import type { ConfigProblem, DurationValue, ProblemCode, ProblemFacts, TextPosition } from './problem.js'

/** A problem of a config, or a warning about it, as it is displayed. */
export interface Problem extends Partial<TextPosition> {
  /** The keys that lead to the value, separated by dots, or the name of the environment variable that set it. */
  readonly path: string
  /** What was expected and what was found. */
  readonly message: string
}

/** How many known names a message lists. */
const MAX_NAMES_SHOWN = 12

const formatNames = (names: readonly string[]): string =>
  names.length > MAX_NAMES_SHOWN
    ? `one of ${names.slice(0, MAX_NAMES_SHOWN).join(', ')} and ${names.length - MAX_NAMES_SHOWN} more`
    : names.length === 0
      ? 'none'
      : `one of ${names.join(', ')}`

const ORIGINS = { 'built-in': ' by default', global_defaults: ' by global_defaults' }

const formatDuration = ({ ms, origin }: DurationValue, spelling: KeyStyle): string =>
  `${spelling === 'wire' ? `${toSeconds(ms)} s` : `${ms} ms`}${origin === undefined ? '' : ORIGINS[origin]}`

function formatExpected(expected: ProblemFacts['expected'], spelling: KeyStyle): string {
  if (typeof expected === 'string') return expected
  if (!('atLeast' in expected)) return formatNames(expected)
  const { atLeast, value, of } = expected
  const subject = of === undefined ? '' : `${formatKeyAs(of.key, spelling)} of the policy ${of.policy} to be `
  const amount = value === undefined ? '' : ` (${formatDuration(value, spelling)})`
  return `${subject}at least ${formatKeyAs(atLeast, spelling)}${amount}`
}

/** The words of a problem. */
interface ProblemWords {
  readonly expected: string
  readonly got: string
  /** The most similar name in parentheses, or nothing. */
  readonly suggestion: string
}

const describeMismatch = ({ expected, got, suggestion }: ProblemWords): string =>
  `expected ${expected}, got ${got}${suggestion}`

/** The sentence for each kind of problem. */
const SENTENCES: { readonly [code in ProblemCode]: (words: ProblemWords) => string } = {
  invalid: describeMismatch,
  conflict: describeMismatch,
  not_found: describeMismatch,
  unknown: ({ expected, got, suggestion }) => `unknown ${got}${suggestion || `; expected ${expected}`}`,
  not_set: ({ got }) => `the variable ${got} is not set (set it, or write \${${got}:-default})`,
  syntax: ({ expected, got }) => `not valid ${expected}${got === '' ? '' : `: ${got}`}`,
  not_readable: ({ got }) => `cannot be read: ${got}`,
  not_loadable: ({ got }) => `cannot be loaded: ${got}`,
  needs_version: ({ expected, got }) => `this ${got} requires version ${expected}; it is used anyway`,
  needs_restart: ({ expected, got }) =>
    got === ''
      ? 'the change takes effect after a restart'
      : `${got} takes effect after a restart; until then records stay in ${expected}`,
}

/** Words a problem, in the keys and units of its source, and masks credentials. */
export function describeProblem(problem: ConfigProblem): Problem {
  const { path, line, column, spelling = 'wire', code, expected, got, suggestion, hint } = problem
  const sentence = SENTENCES[code]({
    expected: formatExpected(expected, spelling),
    got: typeof got === 'string' ? got : formatDuration(got, spelling),
    suggestion: suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`,
  })
  return {
    path: withoutCredentials(path),
    ...(line !== undefined && column !== undefined && { line, column }),
    message: withoutCredentials(hint === undefined ? sentence : `${sentence}; ${hint}`),
  }
}

/**
 * Formats a problem as one line: `holdfast.yaml:4:7 policies.fetch.max_attempts: expected a whole number from 1, got 0`.
 */
export function lineOf({ path, line, column, message }: Problem, file: string | undefined): string {
  const location = line === undefined ? '' : `${file ?? 'config'}:${line}:${column} `
  return `${location}${path === '' ? '' : `${path}: `}${message}`
}

/** An error of the code CONFIG_INVALID. */
export type ConfigInvalid = HoldfastError & { readonly problems: readonly Problem[] }

/** Creates an error that lists all problems: in its message, as lines in `details`, and with their positions in `problems`. */
export function createConfigInvalid(
  subject: string,
  found: readonly ConfigProblem[],
  file?: string,
): ConfigInvalid {
  const problems = found.map(describeProblem)
  const details = problems.map((problem) => lineOf(problem, file))
  const message = `${subject} cannot be used, ${details.length === 1 ? 'one thing is' : `${details.length} things are`} wrong:\n${details.map((line) => `  ${line}`).join('\n')}`
  return Object.assign(new HoldfastError('CONFIG_INVALID', message, { details }), { problems })
}

/** Creates INVALID_OPTIONS for options of a call that are checked like the config. */
export function createCallInvalid(
  subject: string,
  found: readonly ConfigProblem[],
): HoldfastError<'INVALID_OPTIONS'> {
  const details = found.map((problem) => lineOf(describeProblem(problem), undefined))
  return new HoldfastError('INVALID_OPTIONS', `${subject}: ${details.join('; ')}`, { details })
}
