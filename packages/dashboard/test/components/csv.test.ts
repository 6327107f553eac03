import { describe, expect, it } from 'vitest'
import { formatCsv } from '../../src/components/csv.js'

describe('the CSV export', () => {
  it('quotes commas, quotation marks and line breaks', () => {
    expect(
      formatCsv(
        ['a', 'b'],
        [
          ['x,y', 'say "no"'],
          ['two\nlines', 3],
        ],
      ),
    ).toBe('a,b\r\n"x,y","say ""no"""\r\n"two\nlines",3\r\n')
  })

  it('leaves missing values empty and negative numbers as they are', () => {
    expect(formatCsv(['a', 'b', 'c'], [[null, undefined, -1.5]])).toBe('a,b,c\r\n,,-1.5\r\n')
  })

  it.each([
    '=HYPERLINK("http://x")',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\n=1',
    '\uff1d1',
    '\uff0b1',
    '\uff0d1',
    '\uff201',
  ])('does not let a spreadsheet evaluate %j', (text) => {
    const [, cell = ''] = formatCsv(['a'], [[text]]).split('\r\n')
    expect(cell.replace(/^"/, '')).toMatch(/^'/)
  })
})
