import { expect, test } from 'vitest'
import { checkConfig } from '../../src/check/check.js'

// Each unknown name was compared with all known ones: a config of 370 kB with 8,000 policies that name unknown breakers took 46 s to
// check, and a user with the role `viewer` can send one to be validated.

/** The problems of a config whose policies name breakers that do not exist. */
function problemsOf(breakers: readonly string[], references: readonly string[]) {
  const { problems } = checkConfig(
    JSON.stringify({
      version: '1.2.0',
      circuit_breakers: Object.fromEntries(breakers.map((name) => [name, {}])),
      policies: Object.fromEntries(references.map((name, i) => [`p${i}`, { circuit_breaker: name }])),
    }),
    { env: {} },
  )
  return problems.map(({ message }) => message)
}

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
const isSuggested = (message: string | undefined) => message?.includes('did you mean') === true

test('of many unknown names, the first 20 get a suggestion', () => {
  const messages = problemsOf(numbered('breaker_', 30), numbered('braker_', 30))
  expect(messages).toHaveLength(30)
  expect(messages.map(isSuggested)).toEqual(messages.map((_, i) => i < 20))
})

test('an unknown name is compared with 1,000 known names that are not too long', () => {
  const long = 'x'.repeat(101)
  expect(isSuggested(problemsOf([long, ...numbered('breaker_', 999), 'mail'], ['mial'])[0])).toBe(true)
  expect(isSuggested(problemsOf([...numbered('breaker_', 1000), 'mail'], ['mial'])[0])).toBe(false)
})
