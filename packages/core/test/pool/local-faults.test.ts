import { describe, expect, it } from 'vitest'
import { classify } from '../../src/index.js'
import type { SelectionOutcome } from '../../src/pool/members/member-pool.js'
import { isLocalFault, provesNetworkUp } from '../../src/pool/network/local-faults.js'

const withCode = (code: unknown, more: object = {}) => Object.assign(new Error('failed'), { code, ...more })

const thrown = (result: unknown): SelectionOutcome => ({
  hasThrown: true,
  result,
  classification: classify(result),
  breakerOutcome: 'failure',
  duration: 1,
  endedAt: undefined,
})

describe('isLocalFault', () => {
  it.each(['ENETDOWN', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'])('is %s', (code) => {
    expect(isLocalFault(thrown(withCode(code)))).toBe(true)
  })

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH'])('is not %s', (code) => {
    expect(isLocalFault(thrown(withCode(code)))).toBe(false)
  })

  it('is true for a local code in the cause of another error', () => {
    const cause = withCode('ENETDOWN')
    expect(isLocalFault(thrown(new TypeError('fetch failed', { cause })))).toBe(true)
    expect(isLocalFault(thrown(withCode('E_OWN', { cause })))).toBe(true)
    expect(isLocalFault(thrown(withCode(7, { cause })))).toBe(true)
  })

  it('is false when the error also contains another network code', () => {
    const both = (...codes: string[]) => new AggregateError(codes.map((code) => withCode(code)))
    expect(isLocalFault(thrown(both('ENETUNREACH', 'ENETUNREACH')))).toBe(true)
    expect(isLocalFault(thrown(both('ENETUNREACH', 'ECONNREFUSED')))).toBe(false)
    expect(isLocalFault(thrown(both('ETIMEDOUT', 'ENETUNREACH')))).toBe(false)
  })

  it('is false for a value and for errors of another kind', () => {
    expect(isLocalFault({ ...thrown(withCode('ENETDOWN')), hasThrown: false })).toBe(false)
    expect(isLocalFault({ ...thrown(withCode('ENETDOWN')), classification: undefined })).toBe(false)
    expect(
      isLocalFault({
        ...thrown(withCode('ENETDOWN')),
        classification: { category: 'transient', kind: 'timeout' },
      }),
    ).toBe(false)
    expect(isLocalFault(thrown(withCode('EOTHER')))).toBe(false)
  })
})

describe('provesNetworkUp', () => {
  it('is true for any response', () => {
    expect(provesNetworkUp({ ...thrown(undefined), hasThrown: false })).toBe(true)
    for (const status of [403, 404, 405, 418, 429, 500, 503])
      expect(provesNetworkUp(thrown(Object.assign(new Error('status'), { status })))).toBe(true)
  })

  it.each(['ECONNREFUSED', 'ECONNRESET'])('is proved by %s, also behind another error', (code) => {
    expect(provesNetworkUp(thrown(withCode(code)))).toBe(true)
    expect(provesNetworkUp(thrown(new TypeError('fetch failed', { cause: withCode(code) })))).toBe(true)
  })

  it.each(['ETIMEDOUT', 'ENETDOWN', 'EPIPE', 'EHOSTUNREACH'])('is not proved by %s', (code) => {
    expect(provesNetworkUp(thrown(withCode(code)))).toBe(false)
  })

  it('is false for an abort and for unknown or unclassified errors', () => {
    expect(provesNetworkUp(thrown(new DOMException('left', 'AbortError')))).toBe(false)
    expect(provesNetworkUp(thrown(new Error('who knows')))).toBe(false)
    expect(provesNetworkUp({ ...thrown(withCode('ECONNREFUSED')), classification: undefined })).toBe(false)
  })
})
