import { milliseconds } from './duration.js'
import { HoldfastError } from './errors.js'

/** What an option takes, in words, whether a value is that, and how it is brought into the engine's form before. */
export type Rule = readonly [
  takes: string,
  fits: (value: never) => unknown,
  convert?: ((value: unknown) => unknown) | undefined,
]

/** For each option what it is where it is not given, and its rule. */
export type Spec = { readonly [name: string]: readonly [standard: unknown, rule: Rule] }

/** Options with every one of them given. */
export type Filled<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }

/** A spec for each option of an interface. */
export type SpecOf<T> = { readonly [K in keyof T]-?: readonly [standard: unknown, rule: Rule] }

const isWhole = Number.isSafeInteger

/** A whole number from 0. */
export const natural: Rule = ['a whole number from 0', (value: number) => isWhole(value) && value >= 0]

/** A whole number from 1. */
export const count: Rule = ['a whole number from 1', (value: number) => isWhole(value) && value > 0]

/** A whole number from 1, or Infinity. */
export const countless: Rule = [
  `${count[0]}, or Infinity`,
  (value: number) => value === Infinity || (count[1] as typeof isWhole)(value),
]

/** A number from 1. */
export const factor: Rule = ['a number from 1', (value: unknown) => typeof value === 'number' && value >= 1]

/** A finite number from 0. */
export const positive: Rule = ['a number from 0', (value: number) => Number.isFinite(value) && value >= 0]

/** A number from 0 to 1. */
export const share: Rule = [
  'a number from 0 to 1',
  (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
]

/** A number above 0, up to 1. */
export const rate: Rule = [
  'a number above 0, up to 1',
  (value: unknown) => typeof value === 'number' && value > 0 && value <= 1,
]

const FORMS = "in milliseconds or as '500ms', '30s', '5m', '24h', '30d'"

/** A duration of 0 or more; Infinity is one. */
export const delay: Rule = [`a duration of 0 or more, ${FORMS}`, (ms: number) => ms >= 0, milliseconds]

/** A finite duration above 0. */
export const span: Rule = [
  `a duration above 0, ${FORMS}`,
  (ms: number) => ms > 0 && ms < Infinity,
  milliseconds,
]

/** A deadline: a duration above 0; Infinity means none. */
export const deadline: Rule = [`${span[0]}, or Infinity for none`, (ms: number) => ms > 0, milliseconds]

/** One of a few words. */
export const oneOf = (...words: string[]): Rule => [
  `one of ${words.join(', ')}`,
  (value: string) => words.includes(value),
]

/** A value of a type of JavaScript's. */
export const typed = (name: 'function' | 'boolean' | 'string' | 'object'): Rule => [
  `${name === 'object' ? 'an' : 'a'} ${name}`,
  (value: unknown) => value !== null && typeof value === name,
]

/** What either of two rules takes. */
export const either = ([a, isA, convert]: Rule, [b, isB]: Rule): Rule => [
  `${a}, or ${b}`,
  (value: never) => isA(value) || isB(value),
  convert,
]

/** A clock of the user's. */
export const clockRule: Rule = [
  'a Clock with now, wall, setTimer and clearTimer',
  (value: Record<string, unknown>) =>
    ['now', 'wall', 'setTimer', 'clearTimer'].every((name) => value?.[name]),
]

/** What a spec says where nothing is given. */
export const standards = (spec: Spec): object =>
  Object.freeze(Object.fromEntries(Object.entries(spec).map(([name, [standard]]) => [name, standard])))

/** A value in a few characters, for messages. */
export function show(value: unknown): string {
  // Addresses may come with a password.
  if (typeof value === 'string') return JSON.stringify(value.replace(/\/\/.*@/s, '//***@').slice(0, 40))
  if (Array.isArray(value))
    return value.length > 0 && value.every((item) => Object(item) !== item)
      ? `[${value.slice(0, 5).map(show).join(', ')}${value.length > 5 ? ', …' : ''}]`
      : 'an array'
  return Object(value) === value ? `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}` : String(value)
}

/**
 * Reads options over those of `base`, adding a sentence to `problems` for each that is wrong or unknown. An option that is
 * undefined counts as absent.
 */
export function read<T extends object>(
  path: string,
  given: unknown,
  base: T,
  spec: Spec,
  problems: string[],
): T {
  const result = { ...base } as Record<string, unknown>
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.push(`${path || 'options'}: got ${show(given)}, takes an object`)
    return result as T
  }
  for (const [name, value] of Object.entries(given as object)) {
    if (value === undefined) continue
    const [takes, fits, convert] = (Object.hasOwn(spec, name) && spec[name]?.[1]) || []
    const taken = convert ? convert(value) : value
    if (fits?.(taken as never)) result[name] = taken
    else
      problems.push(
        `${path && `${path}.`}${name}: got ${show(value)}, ${takes ? `takes ${takes}` : `but the options are ${Object.keys(spec).join(', ')}`}`,
      )
  }
  return result as T
}

/** Adds a problem where one option is less than another that it must reach. */
export function atLeast(name: string, value: number, other: string, least: number, problems: string[]): void {
  if (value < least) problems.push(`${name}: got ${value}, takes at least ${other}, which is ${least}`)
}

/** Throws one INVALID_OPTIONS that lists every problem; nothing where there is none. */
export function refuse(what: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `${what} cannot be made: ${problems.join('; ')}`, {
      details: problems,
    })
}
