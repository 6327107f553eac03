import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDuration } from '../src/duration.js'

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    ['1.5s', 1500],
    ['0.25m', 15_000],
    ['0s', 0],
    ['007s', 7000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([0, 1, 1.5, -1, Number.POSITIVE_INFINITY])('is the number itself: %d', (ms) => {
    expect(parseDuration(ms)).toBe(ms)
  })

  it.each(
    [
      [
        '',
        's',
        '5',
        '5 s',
        ' 5s',
        '5s ',
        '5S',
        '5sec',
        '-5s',
        '+5s',
        '1e3ms',
        '.5s',
        '5.s',
        '1,5s',
        'Infinityms',
      ],
      ['NaNs', '0x5s', '5s5s', '5s\n', 'soon', '٣s'],
    ].flat(),
  )('is not %j', (text) => {
    expect(parseDuration(text)).toBeNaN()
  })

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['true', true],
    ['an object', {}],
    ['an array', ['5s']],
    ['a bigint', 5n],
    ['a String object', Object('5s')],
    ['NaN', Number.NaN],
  ])('is not %s', (_, value) => {
    expect(parseDuration(value)).toBeNaN()
  })

  it('with a unit is converted to milliseconds', () => {
    const amount = fc.oneof(
      fc.nat(),
      fc.nat().map((n) => n / 1000),
    )
    const unit = fc.constantFrom(...(Object.keys(UNITS) as (keyof typeof UNITS)[]))
    fc.assert(fc.property(amount, unit, (n, name) => parseDuration(`${n}${name}`) === n * UNITS[name]))
  })

  it('is never negative or infinite as a string', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d+(\.\d+)?(ms|s|m|h|d)$/)), (text) => {
        const ms = parseDuration(text)
        return Number.isNaN(ms) || ms >= 0
      }),
    )
  })
})
