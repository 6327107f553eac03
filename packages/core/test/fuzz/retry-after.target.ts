import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { classify, parseRetryAfter } from '../../src/classify/index.js'

/** A fixed wall clock, in epoch milliseconds. */
const NOW = Date.UTC(2026, 0, 29, 12)

const VALUES = [
  '0',
  '1',
  '1.5',
  '-1',
  '1e5',
  '1e999',
  '9'.repeat(400),
  'Infinity',
  'NaN',
  '0x10',
  '1, 2',
  '1,x',
  ' 7 ',
  '1769688060',
  'Thu, 29 Jan 2026 12:01:00 GMT',
  'Thu Jan 29 12:01:00 2026',
  'Thu, 29 Jan 1970 12:01:00 GMT',
  'Thu, 29 Jan 999999 12:01:00 GMT',
  'Mon:00:00',
]
const NAMES = ['retry-after', 'retry-after-ms', 'x-ratelimit-reset', 'x-ratelimit-remaining', 'Retry-After']
const line = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.oneof(fc.constantFrom(...VALUES), fc.double().map(String), fc.string({ maxLength: 20 })),
  )
  .map(([name, value]) => `${name}:${value}`)

/** Headers with the time of a retry: a number of whole milliseconds from 0, or nothing; equal in every form of headers. */
export const target: FuzzTarget = {
  name: 'retry-after',
  cases: fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => Buffer.from(lines.join('\n'))),
  dictionary: [...VALUES, ...NAMES.map((name) => `\n${name}:`), ',', '.', 'e', ' GMT'],
  open: async () => {
    const counts = { cases: 0, found: 0 }
    return {
      check(bytes) {
        const pairs = bytes
          .toString('latin1')
          .split('\n')
          .map(
            (text) =>
              [text.slice(0, Math.max(0, text.indexOf(':'))), text.slice(text.indexOf(':') + 1)] as const,
          )
        // The last value of a name counts, as in an object.
        const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
        const found = parseRetryAfter({ headers }, NOW)
        if (found !== undefined && !(Number.isInteger(found) && found >= 0))
          throw new Error(`${found} is not a number of whole milliseconds`)
        const forms = [
          { headers: new Map(Object.entries(headers)) },
          { response: { headers } },
          { responseHeaders: headers },
          { headers: { get: (name: string) => headers[name] } },
        ]
        for (const form of forms)
          if (parseRetryAfter(form, () => NOW) !== found)
            throw new Error('another form of headers has another time')
        const { retryAfter } = classify(Object.assign(new Error('x'), { status: 429, headers }))
        if (retryAfter !== undefined && !(retryAfter >= 0 && retryAfter < Number.POSITIVE_INFINITY))
          throw new Error('classify returns a time that is not valid')
        counts.cases++
        if (found !== undefined) counts.found++
        if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
      },
      async close() {
        if (counts.cases > 500 && counts.found < counts.cases / 20)
          throw new Error(`only ${counts.found} of ${counts.cases} headers have a time`)
      },
    }
  },
}
