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

  it('has what it was given', () => {
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

  it.each(['cause', 'retryAfter', 'status', 'details'])('has no %s where it was given none', (name) => {
    expect(name in new HoldfastError('CANCELLED', 'stopped')).toBe(false)
    expect(name in new HoldfastError('CANCELLED', 'stopped', {})).toBe(false)
  })

  it('has a cause of undefined where it was given that', () => {
    const error = new HoldfastError('CANCELLED', 'stopped', { cause: undefined })
    expect('cause' in error).toBe(true)
  })

  it('shows its code, and nothing of the machinery, among its properties', () => {
    expect(Object.keys(new HoldfastError('CANCELLED', 'stopped'))).toEqual(['code'])
  })

  it('has a stack that begins where it was made', () => {
    expect(new HoldfastError('CANCELLED', 'stopped').stack).toContain('errors.test')
  })

  it('may be extended', () => {
    class Own extends HoldfastError {}
    const error = new Own('CANCELLED', 'stopped')
    expect(error).toBeInstanceOf(HoldfastError)
    expect(isHoldfastError(error, 'CANCELLED')).toBe(true)
  })
})

describe('isHoldfastError', () => {
  it('knows one of ours', () => {
    expect(isHoldfastError(new HoldfastError('CANCELLED', 'stopped'))).toBe(true)
  })

  it('knows its code', () => {
    const error = new HoldfastError('CANCELLED', 'stopped')
    expect([isHoldfastError(error, 'CANCELLED'), isHoldfastError(error, 'CIRCUIT_OPEN')]).toEqual([
      true,
      false,
    ])
  })

  it('knows one of another copy of the package', () => {
    const other = Object.assign(new Error('open'), {
      code: 'CIRCUIT_OPEN',
      [Symbol.for('holdfast.error')]: true,
    })
    expect([isHoldfastError(other), isHoldfastError(other, 'CIRCUIT_OPEN')]).toEqual([true, true])
  })

  it('is not taken in by a code of that name', () => {
    expect(isHoldfastError(Object.assign(new Error('open'), { code: 'CIRCUIT_OPEN' }))).toBe(false)
  })

  it.each([
    ['an Error', new Error('down')],
    ['undefined', undefined],
    ['null', null],
    ['a string', 'CANCELLED'],
    ['a function', () => {}],
  ])('does not know %s', (_, value) => {
    expect(isHoldfastError(value)).toBe(false)
  })

  it('does not throw where a Proxy does', () => {
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

describe('a refusal', () => {
  it('has no stack frames', () => {
    expect(createCheapError('CIRCUIT_OPEN', 'open', {}).stack).not.toContain('    at ')
  })

  it('leaves the stacks of others as they were', () => {
    const { stackTraceLimit } = Error
    createCheapError('CIRCUIT_OPEN', 'open', {})
    expect(Error.stackTraceLimit).toBe(stackTraceLimit)
    expect(new Error('down').stack).toContain('errors.test')
  })
})
