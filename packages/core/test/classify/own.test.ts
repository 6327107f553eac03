import { describe, expect, it } from 'vitest'
import { classify, OWN_ERRORS } from '../../src/classify/index.js'
import { HoldfastError, type HoldfastErrorCode } from '../../src/errors.js'
import { shaped } from './shapes.js'

const TABLE: { [answer: string]: HoldfastErrorCode[] } = {
  'transient timeout': ['ATTEMPT_TIMEOUT', 'TOTAL_TIMEOUT'],
  'transient server_error': ['STORE_UNAVAILABLE'],
  'permanent unknown': [
    'CIRCUIT_OPEN',
    'POOL_UNAVAILABLE',
    'BULKHEAD_FULL',
    'RETRY_BUDGET_EXHAUSTED',
    'DEAD_LETTERS_FULL',
    'COMMIT_UNKNOWN',
  ],
  'permanent network_error': ['NETWORK_DOWN'],
  'permanent cancelled': ['CANCELLED'],
  'permanent validation': ['INVALID_OPTIONS', 'CONFIG_INVALID', 'PAYLOAD_TOO_LARGE'],
  'permanent not_found': ['POLICY_NOT_FOUND', 'DEAD_LETTER_NOT_FOUND'],
  'permanent conflict': ['POLICY_IN_USE', 'DEAD_LETTER_LEASED', 'IDEMPOTENCY_CONFLICT'],
}

describe("Holdfast's own errors", () => {
  it('have a classification in this test for every code', () => {
    expect(Object.values(TABLE).flat().toSorted()).toEqual(Object.keys(OWN_ERRORS).toSorted())
  })

  for (const [answer, codes] of Object.entries(TABLE)) {
    const [category, kind] = answer.split(' ')
    it.each(codes)(`${answer}: %s, whatever status and cause it has`, (code) => {
      const cause = shaped({ code: 'ECONNREFUSED' })
      expect(classify(new HoldfastError(code, 'no', { status: 503, cause }))).toEqual({ category, kind })
    })

    it.each(codes)(`${answer}: %s, with its retryAfter`, (code) => {
      expect(classify(new HoldfastError(code, 'no', { retryAfter: 250 }))).toEqual({
        category,
        kind,
        retryAfter: 250,
      })
    })
  }

  it('hide a timeout that is the cause of a cancellation', () => {
    const cause = new DOMException('late', 'TimeoutError')
    expect(classify(new HoldfastError('CANCELLED', 'no', { cause })).kind).toBe('cancelled')
  })

  it('are found as the cause of an error without a classification', () => {
    const open = new HoldfastError('CIRCUIT_OPEN', 'resting', {
      retryAfter: 9,
      cause: shaped({ status: 503 }),
    })
    expect(classify(new Error('wrapped', { cause: open }))).toEqual({
      category: 'permanent',
      kind: 'unknown',
      retryAfter: 9,
    })
  })

  it('are not classified like equal codes of other libraries', () => {
    for (const code of ['CIRCUIT_OPEN', 'CANCELLED', 'CONFIG_INVALID', 'POLICY_NOT_FOUND']) {
      expect(classify(shaped({ code }))).toEqual({ category: 'transient', kind: 'unknown' })
    }
  })
})
