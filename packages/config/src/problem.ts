import { HoldfastError } from 'holdfast'

/** A position in a text. Line and column start at 1. */
export interface TextPosition {
  /** The line, from 1. */
  readonly line: number
  /** The column, from 1. */
  readonly column: number
}

/** A problem of a config, or a warning about it. */
export interface Problem extends Partial<TextPosition> {
  /** The keys that lead to the value, separated by dots, or the name of the environment variable that set it. */
  readonly path: string
  /** What was expected and what was found. */
  readonly message: string
}

/** Formats a path as one string. Keys with dots and other special characters are put in brackets. */
export function formatPath(path: readonly string[]): string {
  let result = ''
  for (const step of path) {
    if (/^\d+$/.test(step) || !/^[\w$?-]+$/.test(step))
      result += `[${/^\d+$/.test(step) ? step : quoteValue(step)}]`
    else result += result === '' ? step : `.${step}`
  }
  return result
}

/** How many characters of a value are searched for credentials. Far fewer are shown. */
const MAX_INSPECTED_CHARACTERS = 2000

/** Truncates a value, and masks a url that the cut would divide. */
const truncateBeforeUrl = (value: string): string =>
  value.slice(0, MAX_INSPECTED_CHARACTERS).replace(/:\/\/[^\s"'<>]*$/, '://***')

/**
 * Quotes a value for a message. Credentials are removed before it is shortened, because half of one would not be
 * recognised.
 */
function quoteValue(value: string): string {
  const redacted = withoutCredentials(
    value.length > MAX_INSPECTED_CHARACTERS ? truncateBeforeUrl(value) : value,
  )
  return JSON.stringify(redacted.length > 60 ? `${redacted.slice(0, 60)}…` : redacted)
}

/** The parts of a url that may be secret: credentials and query parameters. */
const CREDENTIALS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@:"'<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>]*@/gi
const USER_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi
const PARAMETERS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi

/** Masks the credentials in urls. */
const withoutCredentials = (value: string): string =>
  value.includes('://')
    ? value
        .replace(CREDENTIALS_PATTERN, '$1***@')
        .replace(USER_PATTERN, '$1***@')
        .replace(PARAMETERS_PATTERN, '$1***')
    : value

/** The problem with masked credentials in its path and message. */
export const withoutSecrets = (problem: Problem): Problem => ({
  ...problem,
  path: withoutCredentials(problem.path),
  message: withoutCredentials(problem.message),
})

/** Formats a value in a few characters, for messages. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return quoteValue(value)
  if (Array.isArray(value)) return 'a list'
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}

/** The expected value and the value that was found, in words. */
export interface Mismatch {
  readonly expected: string
  readonly got: string
}

/** Words a mismatch. */
export const describeMismatch = (expected: string, got: string): string => `expected ${expected}, got ${got}`

/**
 * Formats a problem as one line: `holdfast.yaml:4:7 policies.fetch.max_attempts: expected a whole number from 1, got 0`.
 */
export function lineOf({ path, line, column, message }: Problem, file: string | undefined): string {
  const location = line === undefined ? '' : `${file ?? 'config'}:${line}:${column} `
  return `${location}${path === '' ? '' : `${path}: `}${message}`
}

/** An error of the code CONFIG_INVALID. */
export type ConfigInvalid = HoldfastError & { readonly problems: readonly Problem[] }

/** Creates an error that lists all problems: in its message, as lines in `details`, and as data in `problems`. */
export function createConfigInvalid(
  subject: string,
  problems: readonly Problem[],
  file?: string,
): ConfigInvalid {
  const shown = problems.map(withoutSecrets)
  const details = shown.map((problem) => lineOf(problem, file))
  const message = `${subject} cannot be used, ${details.length === 1 ? 'one thing is' : `${details.length} things are`} wrong:\n${details.map((line) => `  ${line}`).join('\n')}`
  return Object.assign(new HoldfastError('CONFIG_INVALID', message, { details }), { problems: shown })
}
