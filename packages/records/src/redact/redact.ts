import { HoldfastError } from 'holdfast'
import { checkOptions, type OptionCheck } from '../option-checks.js'
import { createRedactingCopier } from './copy.js'
import { createSecretKeyTest } from './keys.js'
import { patternProblem } from './patterns.js'
import { createUserSecretNames, redactText } from './text.js'

/** What is secret besides what is secret everywhere. */
export interface RedactOptions {
  /** Keys whose values are secret, in any spelling, in texts too: `api_key` is `apiKey` and `API-KEY=…`. */
  keys?: readonly string[] | undefined
  /** Regular expressions: what they match in a text is secret. */
  patterns?: readonly string[] | undefined
}

const stringList: OptionCheck = [
  'a list of texts',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]

/** What is wrong with the options, one sentence a problem. */
export function redactProblems({ patterns = [] }: RedactOptions): string[] {
  return patterns.flatMap((pattern, i) => {
    const problem = patternProblem(pattern)
    return problem === undefined ? [] : [`redact.patterns.${i}: ${problem}`]
  })
}

/**
 * Makes the function that copies a value without what is secret in it: values under secret keys, and secrets in texts
 * at any depth. The copy is plain data, and bounded: what is circular, too deep or too much, what cannot be read and what
 * no record can hold (functions, symbols) is a word in brackets. It never throws. Dates stay dates.
 *
 * @throws INVALID_OPTIONS that lists the patterns that are wrong
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
  // What is misspelt would be shown.
  checkOptions('a redactor cannot be made', options, {}, { keys: stringList, patterns: stringList })
  const problems = redactProblems(options)
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `a redactor cannot be made: ${problems.join('; ')}`, {
      details: problems,
    })
  const patterns = (options.patterns ?? []).map((source) => new RegExp(source, 'g'))
  const keys = options.keys ?? []
  const userNames = createUserSecretNames(keys)
  const copy = createRedactingCopier(createSecretKeyTest(keys), (text) =>
    redactText(text, patterns, userNames),
  )
  return <T>(value: T) => copy(value) as T
}
