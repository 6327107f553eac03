import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseTruncatedObject } from '../../src/http/truncated-json.js'

/** Whether a value has nothing that the other does not have in the same place. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return Object.is(part, whole)
  return (
    typeof whole === 'object' &&
    whole !== null &&
    Array.isArray(part) === Array.isArray(whole) &&
    Object.entries(part).every(
      ([key, value]) => Object.hasOwn(whole, key) && isPartOf(value, (whole as Record<string, unknown>)[key]),
    )
  )
}

const object = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('code', 'error', '"', '\\')),
  fc.jsonValue(),
)

it('returns a part of every truncated object', () => {
  fc.assert(
    fc.property(object, fc.nat(), (value, at) => {
      const text = JSON.stringify(value)
      const parsed = parseTruncatedObject(text.slice(0, at % text.length))
      return parsed === undefined || isPartOf(parsed, JSON.parse(text))
    }),
    { numRuns: 2000 },
  )
})

it('returns all members before the last one', () => {
  fc.assert(
    fc.property(object, fc.jsonValue(), (value, last) => {
      const text = JSON.stringify({ ...value, '\u{ffff} last': last })
      const end = JSON.stringify({ '\u{ffff} last': last }).length - 1
      expect(parseTruncatedObject(text.slice(0, text.length - end))).toEqual(
        Object.keys(value).length === 0 ? undefined : JSON.parse(JSON.stringify(value)),
      )
    }),
  )
})

it.each([
  '',
  'text',
  '[{"code":"a"},',
  '"code":"a",',
  '{"code":"a"}',
  '{"code":"a"} ,',
  '{"code":"a"],',
  '{"code":a,',
  '{code:"a",',
  '{"code":"a" "b",',
])('returns undefined for %s', (text) => {
  expect(parseTruncatedObject(text)).toBeUndefined()
})
