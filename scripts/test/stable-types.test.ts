import { describe, expect, it } from 'vitest'
import { sortTypeMembers } from '../stable-types.mjs'

describe('sortTypeMembers', () => {
  it('sorts a union of strings, also with any other string among them', () => {
    expect(sortTypeMembers('A<"b" | (string & {}) | "a", "d" | "c">')).toBe(
      'A<"a" | "b" | (string & {}), "c" | "d">',
    )
  })

  it('puts a named union before any other string', () => {
    const sorted = 'A<StopReason | (string & {})>'
    expect(sortTypeMembers('A<(string & {}) | StopReason>')).toBe(sorted)
    expect(sortTypeMembers(sorted)).toBe(sorted)
  })
})
