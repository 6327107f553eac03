import { HoldfastError } from 'holdfast'
import { suggest } from './config/nearest.js'

const show = (value: unknown): string => {
  if (typeof value === 'string') return value === '' ? 'an empty text' : JSON.stringify(value.slice(0, 40))
  if (value === null || typeof value !== 'object')
    return typeof value === 'function' ? 'a function' : `${String(value)}`
  if (value instanceof Date) return String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** What an option takes, and whether a value is that. */
export type Check = readonly [takes: string, fits: (value: unknown) => boolean]

/** A text with something in it. */
export const text: Check = ['a text that is not empty', (value) => typeof value === 'string' && value !== '']
/** Any text. */
export const words: Check = ['a text', (value) => typeof value === 'string']
/** An instant. */
export const time: Check = ['a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())]
/** A whole number from 0. */
export const natural: Check = [
  'a whole number from 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
]
/** A whole number from 1. */
export const count: Check = [
  'a whole number from 1',
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
]
/** A whole number from 1, or Infinity. */
export const countless: Check = [
  `${count[0]}, or Infinity`,
  (value) => value === Number.POSITIVE_INFINITY || count[1](value),
]
/** A finite number above 0. */
export const above: Check = ['a number above 0', (value) => Number.isFinite(value) && (value as number) > 0]
/** A function. */
export const callable: Check = ['a function', (value) => typeof value === 'function']
/** True or false. */
export const flag: Check = ['true or false', (value) => typeof value === 'boolean']
/** A signal. */
export const abortable: Check = ['an AbortSignal', (value) => value instanceof AbortSignal]

type Checks = Readonly<Record<string, Check>>

/** Who asks, and why. */
export const ACTOR: Checks = { by: words, reason: words }

/** What a list can be asked for besides what its items are like. */
export const PAGE: Checks = {
  limit: countless,
  cursor: words,
  order: ["'oldest' or 'newest'", (value) => value === 'oldest' || value === 'newest'],
}

/**
 * Throws one INVALID_OPTIONS that lists every option that is wrong, and every one that does not exist: what is misspelt
 * would count as absent. Those that are undefined do, unless they are needed.
 */
export function check(what: string, given: unknown, needed: Checks, allowed: Checks = {}): void {
  const problems: string[] = []
  if (typeof given !== 'object' || given === null) problems.push(`got ${show(given)}, takes an object`)
  else {
    const options = given as Record<string, unknown>
    for (const [name, [takes, fits]] of Object.entries(needed))
      if (!fits(options[name])) problems.push(`${name}: got ${show(options[name])}, takes ${takes}`)
    for (const [name, [takes, fits]] of Object.entries(allowed))
      if (options[name] !== undefined && !fits(options[name]))
        problems.push(`${name}: got ${show(options[name])}, takes ${takes}`)
    const known = [...Object.keys(needed), ...Object.keys(allowed)]
    for (const name of Object.keys(options)) if (!known.includes(name)) problems.push(unknown(name, known))
  }
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `${what}: ${problems.join('; ')}`, { details: problems })
}

function unknown(name: string, known: readonly string[]): string {
  const like = suggest(name, known)
  const there = like === undefined ? `there are ${known.join(', ')}` : `did you mean ${like}?`
  return `${name.slice(0, 40)}: there is no such option; ${there}`
}
