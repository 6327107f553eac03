import { describe, expect, it } from 'vitest'
import {
  formatClockTime,
  formatCount,
  formatDuration,
  formatExactTime,
  formatPercent,
  formatRelative,
  truncateMiddle,
} from '../../src/format.js'

describe('the formatting of numbers and times', () => {
  it.each([
    [0, '0 s'],
    [0.0002, '< 1 ms'],
    [0.25, '250 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1 s'],
    [1.5, '1.5 s'],
    [9.96, '10 s'],
    [59.6, '1 min'],
    [200, '3 min 20 s'],
    [7500, '2 h 5 min'],
    [273_600, '3 d 4 h'],
  ])('says %d s as %s', (seconds, said) => {
    expect(formatDuration(seconds)).toBe(said)
  })

  it.each([
    [1, '100 %'],
    [0.9999, '> 99.9 %'],
    [0.984, '98.4 %'],
    [0.0001, '< 0.1 %'],
    [0, '0 %'],
  ])('says a share of %d as %s, and never all where something is missing', (share, said) => {
    expect(formatPercent(share)).toBe(said)
  })

  it.each([
    [0, 'now'],
    [-1400, 'now'],
    [-12_000, '12 s ago'],
    [-200_000, '3 min ago'],
    [-7_500_000, '2 h ago'],
    [-200_000_000, '2 d ago'],
    [42_000, 'in 42 s'],
  ])('says %d ms from now as %s', (ms, said) => {
    expect(formatRelative(1_000_000_000 + ms, 1_000_000_000)).toBe(said)
  })

  it('shows clock times with milliseconds and zone, and the date of another day', () => {
    const at = Date.UTC(2026, 10, 16, 0, 2, 7, 45)
    expect(formatExactTime(at, 'utc')).toBe('2026-11-16 00:02:07.045 UTC')
    expect(formatClockTime(at, at + 3_600_000, 'utc')).toBe('00:02:07.045 UTC')
    expect(formatClockTime(at, at - 3_600_000, 'utc')).toBe('2026-11-16 00:02:07.045 UTC')
  })

  it('leaves out the middle of a long id', () => {
    expect(truncateMiddle('gemini_1763290000000_abc', 24)).toBe('gemini_1763290000000_abc')
    const short = truncateMiddle('browser.navigation_1763290000000_abcdef', 20)
    expect(short).toHaveLength(20)
    expect(short).toMatch(/^browser\.navi.*….*abcdef$/)
  })

  it('groups large numbers', () => {
    expect(formatCount(1_234_567)).toBe('1,234,567')
  })
})
