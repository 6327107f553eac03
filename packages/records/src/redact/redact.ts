import { createOptionsError, type OptionProblem } from 'holdfast/internal'
import { checkOptions, type OptionCheck } from '../option-checks.js'
import { createRedactingCopier } from './copy.js'
import { createSecretKeyTest } from './keys.js'
import { patternProblem } from './patterns.js'
import { createUserSecretNames, redactText } from './text.js'

/** Secrets in addition to those that are always redacted. */
export interface RedactOptions {
  /** Keys whose values are secret, in any spelling and in texts too: `api_key` includes `apiKey` and `API-KEY=…`. */
  keys?: readonly string[] | undefined
  /** Regular expressions whose matches in texts are secret. */
  patterns?: readonly string[] | undefined
}

const stringList: OptionCheck = [
  'an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]

/** Returns a copy of a value without secrets. */
export type Redact = ReturnType<typeof makeRedactor>

/** The problems of the options. */
export const redactProblems = ({ patterns = [] }: RedactOptions): OptionProblem[] =>
  patterns.flatMap((pattern, i) => patternProblem(`redact.patterns.${i}`, pattern) ?? [])

/**
 * Creates a function that copies a value without secrets: values of secret keys, and secrets in texts at any depth. The copy is
 * plain data with limited size. Values that are circular, too deep, too large, unreadable, or not data (functions, symbols) are
 * replaced by a word in brackets. Dates stay dates. The function never throws.
 *
 * @throws INVALID_OPTIONS that lists the patterns that are not valid
 *
 * @example
 * ```ts
 * import { makeRedactor } from '@holdfast/runtime'
 *
 * const redact = makeRedactor({ keys: ['pin'], patterns: ['ACCT-\\d+'] })
 * redact({ user: 'ann', PIN: 1234, note: 'paid from ACCT-77', headers: { cookie: 'a=b' } })
 * // => { user: 'ann', PIN: '[redacted]', note: 'paid from [redacted]', headers: { cookie: '[redacted]' } }
 * makeRedactor({ patterns: ['('] }) // throws INVALID_OPTIONS
 * ```
 */
export function makeRedactor(options: RedactOptions = {}): <T>(value: T) => T {
  // A misspelt option is rejected, because its secrets would not be redacted.
  checkOptions('a redactor cannot be created', options, {}, { keys: stringList, patterns: stringList })
  const problems = redactProblems(options)
  if (problems.length > 0) throw createOptionsError('a redactor cannot be created', problems)
  const patterns = (options.patterns ?? []).map((source) => new RegExp(source, 'g'))
  const keys = options.keys ?? []
  const userNames = createUserSecretNames(keys)
  const copy = createRedactingCopier(createSecretKeyTest(keys), (text) =>
    redactText(text, patterns, userNames),
  )
  return <T>(value: T) => copy(value) as T
}
