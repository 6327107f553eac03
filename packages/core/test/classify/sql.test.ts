import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

const TABLE = {
  'transient network_error': '08000 08003 08006 08001 08P01 08S01',
  'transient conflict': '40001 40P01 40000 55P03',
  'transient server_error': '53000 53200 53300 57000 57P01 57P02 57P03 58000 58030 58P01',
  'transient disk_full': '53100',
  'transient timeout': '57014',
  'critical auth': '28000 28P01',
  'permanent conflict': '23000 23502 23503 23505 23514',
  'permanent validation': '22001 22P02 42601 42P01 42703',
  'permanent access_denied': '42501',
  'permanent unknown': '0A000 25P02 25006 55000 55006 3D000 P0001 XX000 HV000 HY000 F0000 54000 IM001 XXUUU',
}

describe('SQLSTATE', () => {
  for (const [answer, states] of Object.entries(TABLE)) {
    const [category, kind] = answer.split(' ')
    it.each(states.split(' '))(`${answer}: %s, in code or in sqlState`, (sqlState) => {
      expect(classify(shaped({ code: sqlState }))).toEqual({ category, kind, sqlState })
      expect(classify(shaped({ sqlState, code: 'ER_WHATEVER', errno: 3 }))).toEqual({
        category,
        kind,
        sqlState,
      })
    })
  }

  it.each([
    '4',
    '',
    'EPERM1',
    'P2002',
    'E2BIG',
    '4000',
    '400011',
    'x40001',
    '40p01',
    'HELLO',
    'F1000',
    'HX000',
  ])('is not %j in code', (code) => {
    expect(classify(shaped({ code })).sqlState).toBeUndefined()
    expect(classify(shaped({ code }))).toEqual({ category: 'transient', kind: 'unknown' })
  })

  it('in sqlState needs at least two characters', () => {
    expect(classify(shaped({ sqlState: '4' }))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(shaped({ sqlState: '40' }))).toEqual({
      category: 'transient',
      kind: 'conflict',
      sqlState: '40',
    })
    expect(classify(shaped({ sqlState: '2', code: '28000' })).sqlState).toBe('28000')
    expect(classify(shaped({ sqlState: 40001 }))).toEqual({ category: 'transient', kind: 'unknown' })
  })
})

describe('MySQL and MariaDB', () => {
  it.each([
    [1040, '08004', 'server_error'],
    [1205, 'HY000', 'conflict'],
    [1213, '40001', 'conflict'],
    [2006, 'HY000', 'network_error'],
    [2013, 'HY000', 'network_error'],
  ])('%i is transient', (errno, sqlState, kind) => {
    expect(classify(shaped({ errno, sqlState }))).toEqual({ category: 'transient', kind, sqlState })
    expect(classify(shaped({ errno }))).toStrictEqual({ category: 'transient', kind })
  })

  it('are classified by SQLSTATE otherwise', () => {
    expect(classify(shaped({ code: 'ER_DUP_ENTRY', errno: 1062, sqlState: '23000' }))).toEqual({
      category: 'permanent',
      kind: 'conflict',
      sqlState: '23000',
    })
    expect(
      classify(shaped({ code: 'ER_ACCESS_DENIED_ERROR', errno: 1045, sqlState: '28000' })).category,
    ).toBe('critical')
    expect(classify(shaped({ errno: -111 }))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(shaped({ errno: '1213' }))).toEqual({ category: 'transient', kind: 'unknown' })
  })
})

describe('SQLite', () => {
  it.each([
    ['SQLITE_BUSY', 5, 'transient', 'conflict'],
    ['SQLITE_BUSY_SNAPSHOT', 517, 'transient', 'conflict'],
    ['SQLITE_LOCKED', 6, 'transient', 'conflict'],
    ['SQLITE_LOCKED_SHAREDCACHE', 262, 'transient', 'conflict'],
    ['SQLITE_FULL', 13, 'transient', 'disk_full'],
    ['SQLITE_CONSTRAINT_UNIQUE', 2067, 'permanent', 'conflict'],
    ['SQLITE_READONLY', 8, 'permanent', 'access_denied'],
    ['SQLITE_CORRUPT', 11, 'permanent', 'unknown'],
    ['SQLITE_ERROR', 1, 'permanent', 'unknown'],
  ])('%s (%i) is %s %s, by name and by the number of node:sqlite', (code, errcode, category, kind) => {
    expect(classify(shaped({ code }))).toStrictEqual({ category, kind })
    expect(classify(shaped({ code: 'ERR_SQLITE_ERROR', errcode }))).toEqual({ category, kind })
  })

  it('needs the whole prefix', () => {
    expect(classify(shaped({ code: 'MY_SQLITE_BUSY' }))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(shaped({ code: 'ERR_SQLITE_ERROR' }))).toEqual({ category: 'permanent', kind: 'unknown' })
    expect(classify(shaped({ code: 5, errcode: 5 }))).toEqual({ category: 'transient', kind: 'unknown' })
  })
})
