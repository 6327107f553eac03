import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../src/errors.js'
import { isTransientSqlError } from '../../src/sql/index.js'
import { named, shaped } from '../classify/shapes.js'

describe('isTransientSqlError', () => {
  it.each(['08006', '40001', '40P01', '53300', '57P01', '57014', '58030', '55P03'])(
    'returns true for %s',
    (code) => {
      expect(isTransientSqlError(shaped({ code }))).toBe(true)
      expect(isTransientSqlError(shaped({ sqlState: code }))).toBe(true)
    },
  )

  it.each(['22001', '23505', '28P01', '42601', '42P01', '25P02', '55006', 'XX000', 'P0001'])(
    '%s stays',
    (code) => {
      expect(isTransientSqlError(shaped({ code }))).toBe(false)
      expect(isTransientSqlError(shaped({ sqlState: code }))).toBe(false)
    },
  )

  it.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'PROTOCOL_CONNECTION_LOST',
    'SQLITE_BUSY',
  ])('returns true for %s', (code) => {
    expect(isTransientSqlError(shaped({ code }))).toBe(true)
  })

  it.each(['ENOSPC', 'EACCES', 'ENOENT', 'SQLITE_CONSTRAINT', 'MY_CODE'])('%s stays', (code) => {
    expect(isTransientSqlError(shaped({ code }))).toBe(false)
  })

  it('recognizes the error numbers of MySQL', () => {
    expect(isTransientSqlError(shaped({ errno: 1205, sqlState: 'HY000' }))).toBe(true)
    expect(isTransientSqlError(shaped({ errno: 1062, sqlState: '23000' }))).toBe(false)
  })

  it('recognizes a lost connection and a timeout without a code', () => {
    expect(isTransientSqlError(new Error('Connection terminated unexpectedly'))).toBe(true)
    expect(isTransientSqlError(new Error('timeout exceeded when trying to connect'))).toBe(true)
    expect(isTransientSqlError(named('KnexTimeoutError'))).toBe(true)
    expect(isTransientSqlError(named('ValidationError'))).toBe(false)
  })

  it.each([
    undefined,
    null,
    '40001',
    {},
    new Error('who knows'),
    new TypeError('x'),
    shaped({ code: '4' }),
    shaped({ sqlState: '4' }),
    shaped({ sqlState: '' }),
    shaped({ status: 503 }),
  ])('returns false for %o', (error) => {
    expect(isTransientSqlError(error)).toBe(false)
  })

  it('uses the nearest cause that can be classified', () => {
    const deadlock = shaped({ code: '40P01' })
    expect(isTransientSqlError(new Error('a', { cause: new Error('b', { cause: deadlock }) }))).toBe(true)
    expect(isTransientSqlError(shaped({ code: '23505' }, 'a', { cause: deadlock }))).toBe(false)
    expect(isTransientSqlError(shaped({ code: '40001' }, 'a', { cause: shaped({ code: '23505' }) }))).toBe(
      true,
    )
    expect(isTransientSqlError(shaped({ code: 'ENOSPC' }, 'a', { cause: deadlock }))).toBe(true)
    expect(isTransientSqlError(new AggregateError([shaped({ code: 'ECONNREFUSED' })]))).toBe(true)
  })

  it('ends at a circular cause', () => {
    const self = new Error('self')
    self.cause = self
    expect(isTransientSqlError(self)).toBe(false)
  })

  it('treats a deadline as a timeout, and a rejection as permanent', () => {
    const cause = shaped({ code: '40001' })
    expect(isTransientSqlError(new HoldfastError('ATTEMPT_TIMEOUT', 'late'))).toBe(true)
    expect(isTransientSqlError(new HoldfastError('CIRCUIT_OPEN', 'no', { cause }))).toBe(false)
    expect(
      isTransientSqlError(new Error('x', { cause: new HoldfastError('CIRCUIT_OPEN', 'no', { cause }) })),
    ).toBe(false)
    expect(isTransientSqlError(new HoldfastError('POLICY_IN_USE', 'no', { cause }))).toBe(false)
  })
})
