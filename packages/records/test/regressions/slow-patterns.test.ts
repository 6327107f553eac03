import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { patternProblem } from '../../src/redact/patterns.js'

// Patterns for which a search takes seconds for 40 to 1,500 characters were accepted, because only unbounded repetitions inside
// unbounded ones were rejected.

test.each([
  '(?:\\w{1,20})+!',
  '(aa?)+!',
  '(?:a{1,30}){1,30}!',
  '(?:[A-Z0-9]{1,4} ?)+;',
  '\\w*\\w*\\w*\\w*!',
  '\\w*\\w*!',
  '.*foo.*bar',
  '\\w+-?\\w+!',
  '(?:a?b?a?)+!',
  '(?:|a|a)+!',
  '(?:^a|a)+!',
  '(?=(a{1,9}))(?:\\1?a?)+!',
  '\\w+(?=.*x)!',
  '(?=.*a.*b)c',
  '(?<=\\w*\\w*)x',
  '(?:\\w+\\s*){3}!',
  '(\\w+)\\1!',
  '(?:\\x61|a)+!',
  '(?:\\141|a)+!',
  '(?:[^]|a)+!',
  // The bound of a group whose last part can match in infinitely many ways was not a number, which is not above the limit.
  '((aa?)+)!',
  '(?:(?:\\w{1,20})+)!',
  '(?:x(?:a|a)*)!',
  '(?:(?:\\w|\\d)+|x)!',
  `${'('.repeat(300)}a${')+'.repeat(300)}`,
])('a pattern that can take long is reported: %s', (pattern) => {
  expect(patternProblem('redact.patterns.0', pattern)).toMatchObject({
    code: 'invalid',
    expected: expect.stringContaining('after each repetition a character that it cannot match') as string,
  })
})

test.each([
  '(?:\\d{1,3}\\.){3}\\d{1,3}',
  '[\\w.+-]+@[\\w-]+\\.[\\w.]+',
  '\\b\\d{3}-\\d{2}-\\d{4}\\b',
  '(?:\\+\\d{1,3}[ -]?)?\\d{3}[ -]?\\d{4}',
  '[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){3,7}',
  '(?:\\d{4}[- ]?){4}',
  'sk-[A-Za-z0-9]{20,}',
  'Bearer\\s+\\S+',
  '-----BEGIN[^-]+-----',
  '.{0,100}foo.{0,100}bar',
  '(?<!\\w)id=[^;]*;',
  'customer: [^,]+, ?\\d+',
  // Usual patterns were rejected, because a last part that matches was counted as if it were tried again, and a text at the
  // beginning as if it were at every position.
  '[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}',
  '\\S+@\\S+',
  '[^@\\s]+@[^@\\s]+\\.[^@\\s]+',
  '\\beyJ[\\w-]{10,}\\.[\\w-]{10,}\\.[\\w-]{10,}\\b',
  '-----BEGIN (?:RSA |EC )?PRIVATE KEY-----[\\s\\S]*?-----END (?:RSA |EC )?PRIVATE KEY-----',
  '-----BEGIN [A-Z ]+-----[\\s\\S]*?-----END [A-Z ]{1,30}-----',
  'Authorization:\\s*Bearer\\s+[\\w.~+/-]+=*',
  '(?:password|passwd|pwd)\\s*[:=]\\s*["\']?[^\\s"\']+["\']?',
  '"password"\\s*:\\s*"(?:[^"\\\\]|\\\\.)*"',
  '<password>.*?</password>',
])('a pattern that needs few steps is accepted: %s', (pattern) => {
  expect(patternProblem('redact.patterns.0', pattern)).toBeUndefined()
})

test('the patterns that docs/redaction.md recommends are accepted', () => {
  const page = readFileSync(new URL('../../../../docs/redaction.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('| secret | pattern |')
  const patterns = [...table.matchAll(/^\| [\w ]+ \| `(.+)` \|$/gm)].map(([, pattern]) => pattern)
  expect(patterns.length).toBeGreaterThan(4)
  for (const pattern of patterns) expect(patternProblem('redact.patterns.0', pattern)).toBeUndefined()
})

// Each class of a pattern was compared with all 65,536 characters: a config of 450 kB with 300 patterns took 19 s to check, and a user
// with the role `viewer` can send one to be validated.

afterEach(() => void vi.restoreAllMocks())

test('the check of a pattern searches only short texts', () => {
  const lengths: number[] = []
  for (const method of [Symbol.match, 'test'] as const) {
    const original = RegExp.prototype[method] as (this: RegExp, text: string) => never
    vi.spyOn(RegExp.prototype, method as 'test').mockImplementation(function (this: RegExp, text: string) {
      lengths.push(text.length)
      return original.call(this, text)
    })
  }
  expect(patternProblem('redact.patterns.0', '[0-9a-f]\\d\\s[^;]\\x41\\u00e9x')).toBeUndefined()
  expect(lengths.length).toBeGreaterThan(0)
  expect(Math.max(...lengths)).toBeLessThan(200)
})

test.each([
  ['[^\\u0080-\\uffff]+é+!', 'which matches only ASCII, in a negated class'],
  ['\\u00e9+[\\u00e8-\\u00ea]+!', 'of escapes'],
  ['[\\é]+é+!', 'of an escaped character'],
])('a repetition that may match the next character counts as one that does: %s, %s', (pattern) => {
  expect(patternProblem('redact.patterns.0', pattern)).toBeDefined()
})

// An escaped bracket counted as a character that no other part matches: a search for the first pattern below takes minutes.

test.each(['\\]+]+\\]+!', '\\]+[\\]]+\\]+!', '\\]+[^x]+!'])(
  'a repetition of an escaped bracket can match brackets of the next repetition: %s',
  (pattern) => {
    expect(patternProblem('redact.patterns.0', pattern)).toBeDefined()
  },
)
