import { describe, expect, it } from 'vitest'
import { createCheapError } from '../src/errors.js'
import { HoldfastError, isHoldfastError } from '../src/index.js'

describe('a HoldfastError', () => {
  it('is an Error with a code, a name and a message', () => {
    const error = new HoldfastError('CANCELLED', 'stopped')
    expect(error).toBeInstanceOf(Error)
    expect([error.code, error.name, error.message]).toEqual(['CANCELLED', 'HoldfastError', 'stopped'])
    expect(String(error)).toBe('HoldfastError: stopped')
  })

  it('has the given options', () => {
    const cause = new Error('down')
    const details = ['one', 'two']
    const error = new HoldfastError('POOL_UNAVAILABLE', 'none', {
      cause,
      retryAfter: 0,
      status: 503,
      details,
    })
    expect(error).toMatchObject({ retryAfter: 0, status: 503, details })
    expect(error.cause).toBe(cause)
  })

  it.each(['cause', 'retryAfter', 'status', 'details'])('has no %s where none was given', (name) => {
    expect(name in new HoldfastError('CANCELLED', 'stopped')).toBe(false)
    expect(name in new HoldfastError('CANCELLED', 'stopped', {})).toBe(false)
  })

  it('has a cause of undefined where that was given', () => {
    const error = new HoldfastError('CANCELLED', 'stopped', { cause: undefined })
    expect('cause' in error).toBe(true)
  })

  it('has its code as the only enumerable property', () => {
    expect(Object.keys(new HoldfastError('CANCELLED', 'stopped'))).toEqual(['code'])
  })

  it('has a stack that begins where it was created', () => {
    expect(new HoldfastError('CANCELLED', 'stopped').stack).toContain('errors.test')
  })

  it('can be extended', () => {
    class Own extends HoldfastError {}
    const error = new Own('CANCELLED', 'stopped')
    expect(error).toBeInstanceOf(HoldfastError)
    expect(isHoldfastError(error, 'CANCELLED')).toBe(true)
  })
})

describe('isHoldfastError', () => {
  it('accepts a HoldfastError', () => {
    expect(isHoldfastError(new HoldfastError('CANCELLED', 'stopped'))).toBe(true)
  })

  it('checks the code', () => {
    const error = new HoldfastError('CANCELLED', 'stopped')
    expect([isHoldfastError(error, 'CANCELLED'), isHoldfastError(error, 'CIRCUIT_OPEN')]).toEqual([
      true,
      false,
    ])
  })

  it('accepts an error of another copy of the package', () => {
    const other = Object.assign(new Error('open'), {
      code: 'CIRCUIT_OPEN',
      [Symbol.for('holdfast.error')]: true,
    })
    expect([isHoldfastError(other), isHoldfastError(other, 'CIRCUIT_OPEN')]).toEqual([true, true])
  })

  it('rejects another error with such a code', () => {
    expect(isHoldfastError(Object.assign(new Error('open'), { code: 'CIRCUIT_OPEN' }))).toBe(false)
  })

  it.each([
    ['an Error', new Error('down')],
    ['undefined', undefined],
    ['null', null],
    ['a string', 'CANCELLED'],
    ['a function', () => {}],
  ])('rejects %s', (_, value) => {
    expect(isHoldfastError(value)).toBe(false)
  })

  it('does not throw where a Proxy throws', () => {
    const trap = new Proxy(
      {},
      {
        has() {
          throw new Error('trap')
        },
      },
    )
    expect(isHoldfastError(trap)).toBe(false)
  })
})

describe('an error of createCheapError', () => {
  it('has no stack frames', () => {
    expect(createCheapError('CIRCUIT_OPEN', 'open', {}).stack ?? '').not.toContain('    at ')
  })

  it('does not change the stacks of other errors', () => {
    const { stackTraceLimit } = Error
    createCheapError('CIRCUIT_OPEN', 'open', {})
    expect(Error.stackTraceLimit).toBe(stackTraceLimit)
    expect(new Error('down').stack).toContain('errors.test')
  })
})
