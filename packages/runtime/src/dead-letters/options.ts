import { HoldfastError } from 'holdfast'

/** What `dead_letters` says in the file. Read anew for every entry, so that a reload takes effect at once. */
export interface DeadLetterOptions {
  /** Whether failed calls with a payload are kept. @defaultValue true */
  readonly enabled: boolean
  /** The operations that may have dead letters. @defaultValue any */
  readonly operations?: readonly string[] | undefined
  /** Kinds of failure that are not worth keeping. @defaultValue none */
  readonly skipKinds: readonly string[]
  /** The module whose exports replay entries, keyed by operation. @defaultValue none */
  readonly handlersFile?: string | undefined
  /** How many entries may wait, completed ones not counted. @defaultValue 100 000 */
  readonly maxEntries: number
  /** Milliseconds after which an entry is let go of. @defaultValue 30 days */
  readonly maxAge: number
  /** The largest payload, in bytes of JSON. @defaultValue 1 048 576 */
  readonly maxPayload: number
  /** At `maxEntries`: what cannot be kept is reported, or calls with a payload are refused. @defaultValue report */
  readonly whenFull: 'report' | 'refuse'
  /** The keys of payloads, newest first. @defaultValue none: payloads are stored as they are */
  readonly encryptionKey?: string | readonly string[] | undefined
}

/** What holds where the file says nothing. */
export const DEAD_LETTER_DEFAULTS: DeadLetterOptions = Object.freeze({
  enabled: true,
  skipKinds: Object.freeze([]),
  maxEntries: 100_000,
  maxAge: 30 * 86_400_000,
  maxPayload: 1_048_576,
  whenFull: 'report',
})

const show = (value: unknown): string => {
  if (typeof value === 'string') return value === '' ? 'an empty text' : JSON.stringify(value.slice(0, 40))
  if (value === null || typeof value !== 'object')
    return typeof value === 'function' ? 'a function' : `${String(value)}`
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** What an option takes, and whether a value is that. */
export type Check = readonly [takes: string, fits: (value: unknown) => boolean]

/** A text with something in it. */
export const text: Check = ['a text that is not empty', (value) => typeof value === 'string' && value !== '']
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

/** Throws one INVALID_OPTIONS that lists every option that is wrong. Those that are undefined count as absent unless needed. */
export function check(
  what: string,
  given: unknown,
  needed: Readonly<Record<string, Check>>,
  allowed: Readonly<Record<string, Check>> = {},
): void {
  const problems: string[] = []
  if (typeof given !== 'object' || given === null) problems.push(`got ${show(given)}, takes an object`)
  else {
    const options = given as Record<string, unknown>
    for (const [name, [takes, fits]] of Object.entries(needed))
      if (!fits(options[name])) problems.push(`${name}: got ${show(options[name])}, takes ${takes}`)
    for (const [name, [takes, fits]] of Object.entries(allowed))
      if (options[name] !== undefined && !fits(options[name]))
        problems.push(`${name}: got ${show(options[name])}, takes ${takes}`)
  }
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `${what}: ${problems.join('; ')}`, { details: problems })
}
