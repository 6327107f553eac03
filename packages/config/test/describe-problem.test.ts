import { expect, test } from 'vitest'
import { checkConfigText, checkObject } from '../src/check/check.js'
import { describeProblem } from '../src/problems/describe.js'
import type { ProblemFacts } from '../src/problems/problem.js'

test.each<[string, ProblemFacts, string]>([
  [
    'a suggestion and a hint',
    { code: 'not_found', expected: 'a name', got: '"fetc"', suggestion: 'fetch', hint: 'add it' },
    'expected a name, got "fetc" (did you mean fetch?); add it',
  ],
  [
    'an unknown key with a similar name',
    { code: 'unknown', expected: ['a', 'b'], got: 'key of x', suggestion: 'a' },
    'unknown key of x (did you mean a?)',
  ],
  [
    'an unknown key without a similar name',
    { code: 'unknown', expected: ['a', 'b'], got: 'key of x' },
    'unknown key of x; expected one of a, b',
  ],
  [
    'an unknown name in an empty section',
    { code: 'unknown', expected: [], got: 'name under pools' },
    'unknown name under pools; expected none',
  ],
  [
    'more than twelve known names',
    { code: 'unknown', expected: 'abcdefghijklmno'.split(''), got: 'key' },
    'unknown key; expected one of a, b, c, d, e, f, g, h, i, j, k, l and 3 more',
  ],
  [
    'a variable that is not set',
    { code: 'not_set', expected: 'a value', got: 'HOST' },
    'the variable HOST is not set (set it, or write ${HOST:-default})',
  ],
  ['a syntax error', { code: 'syntax', expected: 'YAML', got: 'a reason' }, 'not valid YAML: a reason'],
  ['a syntax error without a reason', { code: 'syntax', expected: 'JSON', got: '' }, 'not valid JSON'],
  [
    'credentials in a value',
    { code: 'not_readable', expected: '', got: 'http://ann:pw@h/' },
    'http://***@h/',
  ],
])('describeProblem words %s', (_, facts, message) => {
  expect(describeProblem({ ...facts, path: 'x' }).message).toContain(message)
})

test('describeProblem converts keys and units to those of the source', () => {
  const problem = {
    path: 'p',
    code: 'conflict',
    expected: { atLeast: 'base_delay', value: { ms: 2500, origin: 'built-in' } },
    got: { ms: 100 },
  } as const
  expect(describeProblem(problem).message).toBe('expected at least base_delay (2.5 s by default), got 0.1 s')
  expect(describeProblem({ ...problem, spelling: 'code' }).message).toBe(
    'expected at least baseDelay (2500 ms by default), got 100 ms',
  )
})

test('a problem of a text is data with its code, the expected and the actual value and the position', () => {
  const text = 'version: "1.2.0"\npolicies: { a: { max_delay: 1, base_delay: 2 } }'
  expect(checkConfigText(text, { env: {} }).problems).toEqual([
    {
      path: 'policies.a.max_delay',
      spelling: 'wire',
      line: 2,
      column: 29,
      code: 'conflict',
      expected: { atLeast: 'base_delay', value: { ms: 2000 } },
      got: { ms: 1000 },
    },
  ])
})

test('a problem of an object has the path of the object and the same data', () => {
  expect(checkObject({ policies: { a: { maxDelay: 1000, baseDelay: 2000 } } }, {}).problems).toEqual([
    {
      path: 'policies.a.maxDelay',
      spelling: 'code',
      code: 'conflict',
      expected: { atLeast: 'base_delay', value: { ms: 2000 } },
      got: { ms: 1000 },
    },
  ])
})
