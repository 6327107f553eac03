import { HoldfastError } from 'holdfast'

/** A place in a text: both count from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** One thing that is wrong with a config, or worth knowing of it. */
export interface Problem extends Partial<Place> {
  /** The keys that lead there, with dots between them; the name of a variable where it came from the environment. */
  readonly path: string
  /** What it got, and what it takes. */
  readonly message: string
}

/** A path in one string. Keys that hold dots or the like are put in brackets. */
export function pathText(path: readonly string[]): string {
  let result = ''
  for (const step of path) {
    if (/^\d+$/.test(step) || !/^[\w$?-]+$/.test(step))
      result += `[${/^\d+$/.test(step) ? step : quoted(step)}]`
    else result += result === '' ? step : `.${step}`
  }
  return result
}

/** So much of a value is looked at, of which much less is shown. */
const LOOKED_AT = 2000

/** A value without its end, and without the url that was cut in two with it. */
const beginning = (value: string): string => value.slice(0, LOOKED_AT).replace(/:\/\/[^\s"'<>]*$/, '://***')

/** What is secret goes first: half of it would not be known for what it is. */
function quoted(value: string): string {
  const said = withoutCredentials(value.length > LOOKED_AT ? beginning(value) : value)
  return JSON.stringify(said.length > 60 ? `${said.slice(0, 60)}…` : said)
}

/** What a url may hold that opens something: credentials, whatever they are made of, and parameters. */
const CREDENTIALS = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@:"'<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>]*@/gi
const USER = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi
const PARAMETERS = /([a-z][a-z\d+.-]{0,30}:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi

/** Takes the credentials out of urls. */
const withoutCredentials = (value: string): string =>
  value.includes('://')
    ? value.replace(CREDENTIALS, '$1***@').replace(USER, '$1***@').replace(PARAMETERS, '$1***')
    : value

/** A problem without the credentials of urls, wherever they were quoted from. */
export const withoutSecrets = (problem: Problem): Problem => ({
  ...problem,
  path: withoutCredentials(problem.path),
  message: withoutCredentials(problem.message),
})

/** A value in a few characters, for messages. */
export function show(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return 'a list'
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}

/** A problem in one line: `holdfast.yaml:4:7 policies.fetch.max_attempts: got 0, takes a whole number from 1`. */
export function lineOf({ path, line, column, message }: Problem, file: string | undefined): string {
  const place = line === undefined ? '' : `${file ?? 'config'}:${line}:${column} `
  return `${place}${path === '' ? '' : `${path}: `}${message}`
}

/** An error of the code CONFIG_INVALID. */
export type ConfigInvalid = HoldfastError & { readonly problems: readonly Problem[] }

/** One error that lists everything wrong: in its message, as lines in `details`, and as data in `problems`. */
export function configInvalid(what: string, problems: readonly Problem[], file?: string): ConfigInvalid {
  const shown = problems.map(withoutSecrets)
  const details = shown.map((problem) => lineOf(problem, file))
  const message = `${what} cannot be used, ${details.length === 1 ? 'one thing is' : `${details.length} things are`} wrong:\n${details.map((line) => `  ${line}`).join('\n')}`
  return Object.assign(new HoldfastError('CONFIG_INVALID', message, { details }), { problems: shown })
}
