import { describe, expect, it } from 'vitest'
import { guard } from '../src/index.js'

const errorOf = (options: object): unknown => {
  try {
    guard(options)
    return undefined
  } catch (error) {
    return error
  }
}

describe('INVALID_OPTIONS', () => {
  it('has every problem as data in `problems` and as a sentence in `details`', () => {
    const options = {
      retry: { maxAttempts: 0, baseDelay: 5, maxDelay: 1 },
      breaker: { slowCallRate: 1 },
      nmae: 'x',
    }
    expect(errorOf(options)).toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [
        { path: 'nmae', code: 'unknown', got: 'an unknown option' },
        {
          path: 'retry.maxAttempts',
          code: 'invalid',
          expected: 'a whole number from 1, or Infinity',
          got: '0',
        },
        { path: 'retry.maxDelay', code: 'conflict', expected: 'at least baseDelay (5)', got: '1' },
        { path: 'breaker.slowCallRate', code: 'conflict' },
      ],
      details: [
        expect.stringMatching(/^nmae: expected one of name, .*, got an unknown option$/),
        'retry.maxAttempts: expected a whole number from 1, or Infinity, got 0',
        'retry.maxDelay: expected at least baseDelay (5), got 1',
        'breaker.slowCallRate: expected both slowCallRate and slowCallDuration, got slowCallRate alone',
      ],
    })
  })

  it('contains no credentials of a URL', () => {
    expect(errorOf({ name: 5, timeout: { attempt: 'http://ann:secret@host' } })).toMatchObject({
      problems: [{ path: 'name' }, { path: 'timeout.attempt', got: '"http://***@host"' }],
    })
  })
})
