// The search for the end of a quoted value inside another text read a run of backslashes again from each of its characters, so
// that its time grew with the square of the length.
import { expect, it } from 'vitest'
import { makeRedactor } from '../../src/redact/redact.js'

const redact = makeRedactor({ keys: ['pin'] })

/** Microseconds of processor time for 50 redactions of a text, which other processes of a busy machine do not lengthen. */
function cpuTimeOf(text: string): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage()
    for (let n = 0; n < 50; n++) redact(text)
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  // Some systems count in steps of milliseconds.
  return Math.max(1000, Math.min(...times))
}

it.each(['token', 'pin'])(
  'one long run of backslashes after %s takes about as long as many short ones',
  (name) => {
    const start = `${name}\\":\\"`
    const long = start + '\\'.repeat(8100)
    const short = start + `${'\\'.repeat(80)}a`.repeat(100)
    // The time of a run that is read from each of its characters is about 75 times as long.
    expect(cpuTimeOf(long)).toBeLessThan(10 * cpuTimeOf(short))
  },
)

it.each([
  ['a run before a quote ends the value', 'token\\":\\"a\\\\\\", b', 'token\\":\\"[redacted]\\\\\\", b'],
  [
    'a run before another character is in the value',
    'token\\":\\"a\\\\b\\", c',
    'token\\":\\"[redacted]\\", c',
  ],
  ['a run at the end of the text is in the value', 'token\\":\\"a\\\\', 'token\\":\\"[redacted]'],
  ['an empty value is redacted', 'token\\":\\"\\"', 'token\\":\\"[redacted]\\"'],
  ['a value has several lines', 'token\\":\\"a\nb\\" c', 'token\\":\\"[redacted]\\" c'],
])('in a quoted text inside another text, %s', (_, text, redacted) => {
  expect(redact(text)).toBe(redacted)
  expect(redact(text.replace('token', 'pin'))).toBe(redacted.replace('token', 'pin'))
})
