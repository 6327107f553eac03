import { milliseconds } from './duration.js'
import { HoldfastError } from './errors.js'

/** How one option is read: what it takes, in words, and its value in the form the engine uses (undefined: wrong). */
export interface Rule {
  takes: string
  read(value: unknown): unknown
}

/** A rule for each option of an options object. */
export type Rules<T> = { readonly [K in keyof Required<T>]: Rule }

const isNumber = (value: unknown): value is number => typeof value === 'number' && !Number.isNaN(value)

/** A number from `min` to `max`, both included. */
export const number = (min: number, max: number): Rule => ({
  takes: max === Number.POSITIVE_INFINITY ? `a number from ${min}` : `a number from ${min} to ${max}`,
  read: (value) => (isNumber(value) && value >= min && value <= max ? value : undefined),
})

/** A share above 0, up to 1. */
export const share: Rule = {
  takes: 'a number above 0, up to 1',
  read: (value) => (isNumber(value) && value > 0 && value <= 1 ? value : undefined),
}

/** A whole number from `min`; with `orInfinity`, Infinity too. */
export const whole = (min: number, orInfinity = false): Rule => ({
  takes: `a whole number from ${min}${orInfinity ? ', or Infinity' : ''}`,
  read: (value) =>
    isNumber(value) && value >= min && (Number.isSafeInteger(value) || (orInfinity && value === Infinity))
      ? value
      : undefined,
})

const durationRule = (text: string, fits: (ms: number) => boolean): Rule => ({
  takes: `a duration ${text}: milliseconds, or a string such as '500ms', '30s', '5m', '24h', '30d'`,
  read: (value) => {
    const ms = milliseconds(value)
    return fits(ms) ? ms : undefined
  },
})

/** A duration of 0 or more; Infinity is one. */
export const delay: Rule = durationRule('of 0 or more', (ms) => ms >= 0)

/** A finite duration above 0. */
export const span: Rule = durationRule('above 0', (ms) => ms > 0 && ms < Infinity)

/** A deadline: a duration above 0; Infinity means none. */
export const deadline: Rule = durationRule('above 0, or Infinity for none', (ms) => ms > 0)

/** One of a few words. */
export const oneOf = (...words: string[]): Rule => ({
  takes: words.map((word) => `'${word}'`).join(', '),
  read: (value) => (words.includes(value as string) ? value : undefined),
})

/** A value of one JavaScript type. */
export const type = (name: 'function' | 'boolean' | 'string'): Rule => ({
  takes: `a ${name}`,
  read: (value) => (typeof value === name ? value : undefined),
})

/** An object that has these methods. */
export const withMethods = (takes: string, ...methods: string[]): Rule => ({
  takes,
  read: (value) =>
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
      ? value
      : undefined,
})

/** The first of two rules that takes the value. */
export const either = (a: Rule, b: Rule): Rule => ({
  takes: `${a.takes}, or ${b.takes}`,
  read: (value) => a.read(value) ?? b.read(value),
})

/** A value in a few characters, for messages. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/**
 * Reads an options object over its defaults, adding a sentence to `problems` for each option that is wrong or unknown.
 * An option that is undefined counts as absent.
 */
export function read<T extends object>(
  path: string,
  given: unknown,
  defaults: T,
  rules: { readonly [name: string]: Rule },
  problems: string[],
): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.push(`${path || 'options'}: got ${show(given)}, takes an object`)
    return defaults
  }
  const result = { ...defaults } as Record<string, unknown>
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const at = path === '' ? name : `${path}.${name}`
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) {
      problems.push(
        `${at}: got ${show(value)}, but there is no such option; there are ${Object.keys(rules).join(', ')}`,
      )
      continue
    }
    const taken = rule.read(value)
    if (taken === undefined) problems.push(`${at}: got ${show(value)}, takes ${rule.takes}`)
    else result[name] = taken
  }
  return result as T
}

/** Throws one INVALID_OPTIONS that lists every problem; nothing where there is none. */
export function refuse(what: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `${what}: ${problems.join('; ')}`, { details: problems })
}
