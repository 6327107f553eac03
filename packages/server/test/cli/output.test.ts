import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatChart } from '../../src/cli/output/chart.js'
import { formatBar } from '../../src/cli/output/progress.js'
import { fitColumns, formatTable } from '../../src/cli/output/table.js'
import { formatInline, formatRelativeTime, formatSeconds } from '../../src/cli/output/text.js'

const io = (columns: number, terminal = true) =>
  ({ isTerminal: terminal, hasColours: false, columns: () => columns }) as never

describe('a table', () => {
  it('is never wider than the terminal if its columns have room', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string(), { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 200 }),
        (rows, columns) => {
          for (const line of formatTable(io(columns), ['one', 'two', 'three'], rows).split('\n'))
            expect(line.length).toBeLessThanOrEqual(columns)
        },
      ),
    )
  })

  it('shortens nothing without a terminal', () => {
    const long = 'x'.repeat(500)
    expect(formatTable(io(40, false), ['a'], [[long]])).toContain(long)
  })

  it('keeps the first column, shortens the widest of the others, and omits the last', () => {
    expect(fitColumns([5, 40, 10], 40)).toEqual([5, 21, 10])
    expect(fitColumns([30, 40, 10], 46)).toEqual([30, 6, 6])
    expect(fitColumns([30, 40, 10], 45)).toEqual([30, 13])
    expect(fitColumns([30, 40, 10], 20)).toEqual([20])
    expect(fitColumns([3, 4], 80)).toEqual([3, 4])
  })

  it('has one line for each row with any content', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), (cells) => {
        const text = formatTable(
          io(80, false),
          ['a'],
          cells.map((cell) => [`x${cell}`]),
        )
        expect(text.split('\n')).toHaveLength(cells.length + 2)
      }),
    )
  })
})

describe('the text of a config file', () => {
  it('has no control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // oxlint-disable-next-line no-control-regex -- control characters are what this is about
        expect(formatInline(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
      }),
    )
    expect(formatInline('\u001b[31mred\u001b[0m\nline')).toBe(' [31mred [0m line')
  })

  it('formats times with suitable units', () => {
    expect([0, 0.25, 1.5, 90, 600, 7200, 200_000].map(formatSeconds)).toEqual([
      '0 s',
      '250 ms',
      '1.5 s',
      '90 s',
      '10 min',
      '2 h',
      '2.31 d',
    ])
    const now = Date.UTC(2026, 0, 29)
    expect(formatRelativeTime('2026-01-29T00:00:05.000Z', now)).toBe('in 5 s')
    expect(formatRelativeTime('2026-01-28T23:59:00.000Z', now)).toBe('60 s ago')
    expect(formatRelativeTime(null, now)).toBe('–')
    expect(formatRelativeTime('whenever', now)).toBe('whenever')
  })
})

describe('a chart', () => {
  const waits = [
    { attempt: 2, base: 1, min: 0.5, max: 1 },
    { attempt: 3, base: 2, min: 2, max: 2 },
  ]

  it('shows the minimum and the range of jitter', () => {
    expect(formatChart(waits, 45)).toEqual([
      'attempt 2   █████▒▒▒▒▒           500 ms – 1 s',
      'attempt 3   ███████████████████  2 s',
    ])
  })

  it('is empty without waits', () => {
    expect(formatChart([], 80)).toEqual([])
    expect(formatChart([{ attempt: 2, base: 0, min: 0, max: 0 }], 80)).toEqual([])
  })

  it('shows the number of omitted waits', () => {
    const many = Array.from({ length: 30 }, (_, i) => ({ attempt: i + 2, base: 1, min: 1, max: 1 }))
    expect(formatChart(many, 80).at(-1)).toBe('… and 10 more')
  })
})

describe('a progress bar', () => {
  it('fits into one line for any progress', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 1, max: 200 }),
        (done, failed, total, columns) => {
          expect(formatBar({ done, failed, total }, columns).length).toBeLessThanOrEqual(columns)
        },
      ),
    )
  })

  it('shows the progress', () => {
    expect(formatBar({ done: 29, failed: 2, total: 50 }, 45)).toBe(
      '[########------]   58 %  29 of 50, 2 failed',
    )
    expect(formatBar({ done: 0, failed: 0, total: undefined }, 80)).toContain('0 of ?')
  })
})
