import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

describe('gRPC statuses', () => {
  it.each([
    [1, 'CANCELLED', 'permanent', 'cancelled'],
    [2, 'UNKNOWN', 'permanent', 'server_error'],
    [3, 'INVALID_ARGUMENT', 'permanent', 'validation'],
    [4, 'DEADLINE_EXCEEDED', 'transient', 'timeout'],
    [5, 'NOT_FOUND', 'permanent', 'not_found'],
    [6, 'ALREADY_EXISTS', 'permanent', 'conflict'],
    [7, 'PERMISSION_DENIED', 'permanent', 'access_denied'],
    [8, 'RESOURCE_EXHAUSTED', 'transient', 'rate_limited'],
    [9, 'FAILED_PRECONDITION', 'permanent', 'validation'],
    [10, 'ABORTED', 'transient', 'conflict'],
    [11, 'OUT_OF_RANGE', 'permanent', 'validation'],
    [12, 'UNIMPLEMENTED', 'permanent', 'server_error'],
    [13, 'INTERNAL', 'permanent', 'server_error'],
    [14, 'UNAVAILABLE', 'transient', 'server_error'],
    [15, 'DATA_LOSS', 'permanent', 'server_error'],
    [16, 'UNAUTHENTICATED', 'critical', 'auth'],
  ])('%i %s is %s %s', (code, _, category, kind) => {
    expect(classify(shaped({ code, details: 'so it is', metadata: {} }))).toEqual({ category, kind })
    expect(classify(shaped({ code, details: 'so it is' }))).toEqual({ category, kind })
    expect(classify(shaped({ code, details: [], metadata: new Headers() }))).toEqual({ category, kind })
  })

  it('UNAVAILABLE without a connection is a network error', () => {
    const details = 'No connection established. Last error: connect ECONNREFUSED'
    expect(classify(shaped({ code: 14, details }))).toEqual({ category: 'transient', kind: 'network_error' })
    expect(classify(shaped({ code: 13, details })).kind).toBe('server_error')
  })

  it.each([0, 17, -1, 3.5, '14', Number.NaN])('is not %s', (code) => {
    expect(classify(shaped({ code, details: '', metadata: {} }))).toEqual({
      category: 'transient',
      kind: 'unknown',
    })
  })

  it('is not any other small number in code', () => {
    expect(classify(shaped({ code: 14 }))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(shaped({ code: 14, details: { any: 1 }, metadata: null })).kind).toBe('unknown')
    expect(classify(new DOMException('gone', 'NotFoundError'))).toEqual({
      category: 'transient',
      kind: 'unknown',
    })
  })
})
