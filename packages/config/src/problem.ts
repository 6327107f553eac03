import { HoldfastError } from 'holdfast'

/** A place in a text: both count from 1. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** One thing that is wrong with a config, or worth knowing of it. */
export interface Problem extends Partial<TextPosition> {
  /** The keys that lead there, with dots between them; the name of a variable where it came from the environment. */
  readonly path: string
  /** What it got, and what it takes. */
  readonly message: string
}

/** A path in one string. Keys that hold dots or the like are put in brackets. */
export function formatPath(path: readonly string[]): string {
  let result = ''
  for (const step of path) {
    if (/^\d+$/.test(step) || !/^[\w$?-]+$/.test(step))
      result += `[${/^\d+$/.test(step) ? step : quoteValue(step)}]`
    else result += result === '' ? step : `.${step}`
  }
  return result
}

/** So much of a value is looked at, of which much less is shown. */
const MAX_INSPECTED_CHARACTERS = 2000

/** A value without its end, and without the url that was cut in two with it. */
const truncateBeforeUrl = (value: string): string =>
  value.slice(0, MAX_INSPECTED_CHARACTERS).replace(/:\/\/[^\s"'<>]*$/, '://***')

/** What is secret goes first: half of it would not be known for what it is. */
function quoteValue(value: string): string {
  const redacted = withoutCredentials(
    value.length > MAX_INSPECTED_CHARACTERS ? truncateBeforeUrl(value) : value,
  )
  return JSON.stringify(redacted.length > 60 ? `${redacted.slice(0, 60)}…` : redacted)
}

/** What a url may hold that opens something: credentials, whatever they are made of, and parameters. */
const CREDENTIALS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@:"'<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>]*@/gi
const USER_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi
const PARAMETERS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi

/** Takes the credentials out of urls. */
const withoutCredentials = (value: string): string =>
  value.includes('://')
    ? value
        .replace(CREDENTIALS_PATTERN, '$1***@')
        .replace(USER_PATTERN, '$1***@')
        .replace(PARAMETERS_PATTERN, '$1***')
    : value

/** A problem without the credentials of urls, wherever they were quoted from. */
export const withoutSecrets = (problem: Problem): Problem => ({
  ...problem,
  path: withoutCredentials(problem.path),
  message: withoutCredentials(problem.message),
})

/** A value in a few characters, for messages. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return quoteValue(value)
  if (Array.isArray(value)) return 'a list'
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}

/** A problem in one line: `holdfast.yaml:4:7 policies.fetch.max_attempts: got 0, takes a whole number from 1`. */
export function lineOf({ path, line, column, message }: Problem, file: string | undefined): string {
  const location = line === undefined ? '' : `${file ?? 'config'}:${line}:${column} `
  return `${location}${path === '' ? '' : `${path}: `}${message}`
}

/** An error of the code CONFIG_INVALID. */
export type ConfigInvalid = HoldfastError & { readonly problems: readonly Problem[] }

/** One error that lists everything wrong: in its message, as lines in `details`, and as data in `problems`. */
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
