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

const quoted = (value: string): string => JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)

/** Takes the credentials out of urls. */
export const withoutCredentials = (value: string): string =>
  value.replace(/([a-z][a-z\d+.-]*:\/\/)[^\s/?#]*@/gi, '$1***@')

/** A value in a few characters, for messages. */
export function show(value: unknown): string {
  if (typeof value === 'string') return quoted(withoutCredentials(value))
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
  const details = problems.map((problem) => lineOf(problem, file))
  const message = `${what} cannot be used, ${details.length === 1 ? 'one thing is' : `${details.length} things are`} wrong:\n${details.map((line) => `  ${line}`).join('\n')}`
  return Object.assign(new HoldfastError('CONFIG_INVALID', message, { details }), { problems })
}
