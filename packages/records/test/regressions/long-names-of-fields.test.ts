// Only values counted towards the limit of characters, so that a context with long names had a copy of any size.
import { describe, expect, it } from 'vitest'
import { makeRedactor } from '../../src/redact/redact.js'

/** The documented limit, with room for the string that exceeds it and for markers. */
const MAX_JSON_LENGTH = 65_536 + 8192 + 1000

const redact = makeRedactor()

/** Entries with names of this length, all different. */
const entries = (count: number, length: number): [string, number][] =>
  Array.from({ length: count }, (_, i) => [`${i}`.padEnd(length, ' x'), i])

describe('the copy of a context is at most 65,536 characters long', () => {
  it.each([
    ['an object', (pairs: [string, number][]) => Object.fromEntries(pairs)],
    ['a Map', (pairs: [string, number][]) => new Map(pairs)],
    ['an error', (pairs: [string, number][]) => Object.assign(new Error('down'), Object.fromEntries(pairs))],
    ['an object in an object', (pairs: [string, number][]) => ({ inner: Object.fromEntries(pairs) })],
  ])('if %s has many long names', (_, create) => {
    const copy = redact(create(entries(500, 8000)))
    expect(JSON.stringify(copy).length).toBeLessThan(MAX_JSON_LENGTH)
    expect(JSON.stringify(copy)).toContain('"…":"[too much]"')
  })

  it('and the fields before the limit stay', () => {
    const copy = redact(Object.fromEntries(entries(200, 1000)))
    expect(Object.keys(copy)).toHaveLength(67)
    expect(Object.keys(copy).at(-1)).toBe('…')
    expect(Object.values(copy).slice(0, 66)).toEqual(Array.from({ length: 66 }, (_, i) => i))
  })
})
