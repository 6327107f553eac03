import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { named, shaped } from './shapes.js'

const refused = () => shaped({ code: 'ECONNREFUSED' })
const NETWORK = { category: 'transient', kind: 'network_error' }
const UNKNOWN = { category: 'transient', kind: 'unknown' }

describe('causes', () => {
  it('are classified when an error has no classification, the nearest first', () => {
    expect(classify(new Error('a', { cause: new Error('b', { cause: refused() }) }))).toEqual(NETWORK)
    expect(classify(shaped({ status: 404 }, 'a', { cause: refused() })).kind).toBe('not_found')
  })

  it('without a classification, or that are not errors, change nothing', () => {
    for (const cause of ['text', 3, null, undefined, {}, [], new Error('b')]) {
      expect(classify(new Error('a', { cause }))).toEqual(UNKNOWN)
      expect(classify({ cause })).toEqual({ category: 'permanent', kind: 'unknown' })
    }
  })

  it('can be circular', () => {
    const a = new Error('a')
    const b = new Error('b', { cause: a })
    a.cause = b
    expect(classify(a)).toEqual(UNKNOWN)
    const self = new TypeError('self')
    self.cause = self
    expect(classify(self).category).toBe('permanent')
  })

  it('are read up to a limit', () => {
    const wrap = (levels: number) => {
      let error = refused()
      for (let i = 0; i < levels; i++) error = new Error('wrap', { cause: error })
      return error
    }
    expect(classify(wrap(99))).toEqual(NETWORK)
    expect(classify(wrap(100))).toEqual(UNKNOWN)
    expect(classify(wrap(99))).toEqual(NETWORK)
  })

  it('can be new objects each time they are read', () => {
    class Endless extends Error {
      override get cause(): unknown {
        return new Endless()
      }
    }
    expect(classify(new Endless())).toEqual(UNKNOWN)
  })

  it('provide retryAfter, unless the outer error has one', () => {
    const cause = shaped({ status: 429, retryAfter: 20 })
    expect(classify(new Error('a', { cause }))).toEqual({
      category: 'transient',
      kind: 'rate_limited',
      httpStatus: 429,
      retryAfter: 20,
    })
    expect(classify(shaped({ retryAfter: 10 }, 'a', { cause })).retryAfter).toBe(10)
    expect(classify(shaped({ retryAfter: 10 }))).toEqual({ ...UNKNOWN, retryAfter: 10 })
    expect(classify(Object.assign(new TypeError('Load failed'), { retryAfter: 5 }))).toEqual({
      ...NETWORK,
      retryAfter: 5,
    })
  })
})

describe('aborts', () => {
  const late = new DOMException('late', 'TimeoutError')

  it('with a timeout as reason are timeouts', () => {
    expect(classify(named('AbortError', { cause: late }))).toEqual({ category: 'transient', kind: 'timeout' })
    expect(classify(shaped({ code: 'ERR_CANCELED', config: { signal: { reason: late } } })).kind).toBe(
      'timeout',
    )
    const config = { signal: { reason: late } }
    expect(classify(shaped({ config }, 'gaxios', { cause: named('AbortError') })).kind).toBe('timeout')
  })

  it('with another reason, or none, are not timeouts', () => {
    const cancelled = { category: 'permanent', kind: 'cancelled' }
    expect(classify(named('AbortError', { cause: new Error('stop') }))).toEqual(cancelled)
    expect(classify(named('AbortError', { cause: 'timeout' }))).toEqual(cancelled)
    expect(classify(shaped({ code: 'ERR_CANCELED', config: { signal: {} } }))).toEqual(cancelled)
    expect(
      classify(shaped({ code: 'ERR_CANCELED', config: { signal: { reason: named('AbortError') } } })),
    ).toEqual(cancelled)
    expect(classify(shaped({ code: 'ERR_CANCELED', config: {} }))).toEqual(cancelled)
    expect(classify(shaped({ code: 'ERR_CANCELED', config: null }))).toEqual(cancelled)
  })

  it('do not turn an error of another kind into a timeout', () => {
    expect(classify(shaped({ status: 404, config: { signal: { reason: late } } })).kind).toBe('not_found')
  })
})

describe('an AggregateError', () => {
  const of = (...errors: unknown[]) => classify(new AggregateError(errors))

  it('has the classification that its members agree on', () => {
    expect(of(refused(), shaped({ code: 'ENETUNREACH' }))).toEqual(NETWORK)
    expect(of(shaped({ status: 404 }), shaped({ status: 404 }))).toEqual({
      category: 'permanent',
      kind: 'not_found',
      httpStatus: 404,
    })
  })

  it('has the classification that is most likely to be retryable: known and transient, transient, critical, permanent', () => {
    const [notFound, auth, odd] = [shaped({ status: 404 }), shaped({ status: 401 }), new Error('odd')]
    expect(of(notFound, auth, odd, refused())).toEqual(NETWORK)
    expect(of(refused(), odd, auth, notFound)).toEqual(NETWORK)
    expect(of(notFound, odd, auth)).toEqual(UNKNOWN)
    expect(of(notFound, auth).kind).toBe('auth')
    expect(of(auth, notFound).kind).toBe('auth')
    expect(of(notFound, new TypeError('x')).kind).toBe('not_found')
    expect(of(shaped({ status: 503 }), refused()).kind).toBe('server_error')
  })

  it('with a code of its own, as of a host with two addresses, is classified by that', () => {
    expect(
      classify(Object.assign(new AggregateError([new TypeError('x')]), { code: 'ECONNREFUSED' })),
    ).toEqual(NETWORK)
  })

  it('without members, or with itself as member, has no classification', () => {
    expect(of()).toEqual(UNKNOWN)
    const self = new AggregateError([])
    self.errors.push(self, self)
    expect(classify(self)).toEqual(UNKNOWN)
  })

  it('of values that are not errors is permanent', () => {
    expect(of('a', 'b')).toEqual({ category: 'permanent', kind: 'unknown' })
  })

  it('can be any error with a list of errors', () => {
    expect(classify(shaped({ errors: [refused()] }))).toEqual(NETWORK)
    expect(classify(shaped({ errors: ['text'] }))).toEqual(UNKNOWN)
    expect(classify(shaped({ errors: 'text' }))).toEqual(UNKNOWN)
  })

  it('can be a cause, and have members with causes', () => {
    const many = new AggregateError([new Error('a', { cause: refused() })])
    expect(classify(new Error('outer', { cause: many }))).toEqual(NETWORK)
  })

  it('has the retryAfter of its member, or else its own', () => {
    const limited = shaped({ status: 429, retryAfter: 20 })
    expect(of(limited).retryAfter).toBe(20)
    expect(classify(Object.assign(new AggregateError([limited]), { retryAfter: 30 })).retryAfter).toBe(20)
    expect(classify(Object.assign(new AggregateError([refused()]), { retryAfter: 30 }))).toEqual({
      ...NETWORK,
      retryAfter: 30,
    })
  })

  it('with a million members is classified by the first ones', () => {
    expect(classify(new AggregateError(Array(1_000_000).fill(refused())))).toEqual(NETWORK)
  })
})
