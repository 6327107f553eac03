import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { classify, compileMatchers, type Matcher } from '../../src/classify/index.js'
import { HoldfastError } from '../../src/errors.js'
import { named, shaped } from './shapes.js'

const matches = (error: unknown, ...matchers: Matcher[]) => compileMatchers(matchers)(error, classify(error))

class AppError extends Error {}
class PaymentError extends AppError {}

describe('a class', () => {
  it('matches its errors and those of its descendants', () => {
    expect(matches(new PaymentError(), PaymentError)).toBe(true)
    expect(matches(new PaymentError(), AppError)).toBe(true)
    expect(matches(new PaymentError(), Error)).toBe(true)
    expect(matches(new AppError(), PaymentError)).toBe(false)
    expect(matches(new TypeError('x'), TypeError)).toBe(true)
    expect(matches(new DOMException('x'), DOMException)).toBe(true)
  })

  it('can be abstract, a constructor function, or not derived from Error', () => {
    abstract class Base extends Error {}
    class Leaf extends Base {}
    function Old(this: Error) {}
    Old.prototype = Object.create(Error.prototype)
    class Plain {}
    expect(matches(new Leaf(), Base)).toBe(true)
    expect(matches(Object.create(Old.prototype), Old as unknown as Matcher)).toBe(true)
    expect(matches(new Error('x'), Old as unknown as Matcher)).toBe(false)
    expect(matches(new Plain(), Plain)).toBe(true)
    expect(matches(new Error('x'), Plain)).toBe(false)
  })

  it('is never called', () => {
    const Spy = vi.fn()
    class Watched {
      constructor() {
        Spy()
      }
    }
    matches(new Error('x'), Watched, Error)
    expect(Spy).not.toHaveBeenCalled()
  })

  it('matches causes and members of an AggregateError', () => {
    expect(matches(new Error('a', { cause: new Error('b', { cause: new PaymentError() }) }), AppError)).toBe(
      true,
    )
    expect(matches(new AggregateError([new Error('a'), new PaymentError()]), AppError)).toBe(true)
    expect(matches(new Error('a', { cause: new AggregateError([new PaymentError()]) }), AppError)).toBe(true)
    expect(matches(shaped({ errors: 'none' }), AppError)).toBe(false)
  })

  it('whose instanceof check throws matches nothing', () => {
    class Odd {
      static [Symbol.hasInstance](): never {
        throw new Error('no')
      }
    }
    expect(matches(new Error('x'), Odd)).toBe(false)
    expect(matches(new Error('x'), Odd, Error)).toBe(true)
  })
})

describe('a predicate', () => {
  it('gets the error itself, and must return true', () => {
    const error = new Error('a', { cause: new PaymentError() })
    const asked = vi.fn(() => true)
    expect(matches(error, asked)).toBe(true)
    expect(asked.mock.calls).toEqual([[error]])
    expect(matches(error, () => false)).toBe(false)
    expect(matches(error, (() => 1) as unknown as Matcher)).toBe(false)
    expect(matches(error, (async () => true) as unknown as Matcher)).toBe(false)
    expect(matches('text', (thrown: unknown) => thrown === 'text')).toBe(true)
  })

  it('can be a plain function, a bound one or a method', () => {
    function plain() {
      return true
    }
    const { method } = { method: () => true }
    expect(matches(1, plain)).toBe(true)
    expect(matches(1, plain.bind(null))).toBe(true)
    expect(matches(1, method)).toBe(true)
    expect(
      matches(1, function classy() {
        return true
      }),
    ).toBe(true)
  })

  it('that throws matches nothing and is reported, and the next one is called', () => {
    const oops = new Error('oops')
    const bad = () => {
      throw oops
    }
    const onThrow = vi.fn()
    const match = compileMatchers([bad, 'ECONNRESET'], onThrow)
    const reset = shaped({ code: 'ECONNRESET' })
    expect(match(reset, classify(reset))).toBe(true)
    expect(match(1, classify(1))).toBe(false)
    expect(onThrow.mock.calls).toEqual([
      [oops, bad],
      [oops, bad],
    ])
    expect(compileMatchers([bad])(1, classify(1))).toBe(false)
  })

  it('is not called once an earlier matcher matched', () => {
    const asked = vi.fn(() => true)
    expect(matches(new Error('x'), 'Error', asked)).toBe(true)
    expect(asked).not.toHaveBeenCalled()
  })
})

describe('a list', () => {
  it('that is empty matches nothing', () => {
    expect(matches(new Error('x'))).toBe(false)
  })

  it('is copied when it is compiled', () => {
    const list: Matcher[] = ['ECONNRESET', () => true]
    const match = compileMatchers(list)
    list.length = 0
    expect(match(1, classify(1))).toBe(true)
  })
})

describe('a name', () => {
  it('is the name of an error, of its class, or of an ancestor', () => {
    expect(matches(new PaymentError(), 'PaymentError')).toBe(true)
    expect(matches(new PaymentError(), 'AppError')).toBe(true)
    expect(matches(new PaymentError(), 'Error')).toBe(true)
    expect(matches(named('SensorError'), 'SensorError')).toBe(true)
    expect(matches(new PaymentError(), 'Payment')).toBe(false)
    expect(matches(new AppError(), 'PaymentError')).toBe(false)
    expect(matches(runInNewContext('new RangeError("x")'), 'RangeError')).toBe(true)
  })

  it('is the name of an HTTP error too, regardless of the response', () => {
    expect(matches(shaped({ name: 'MyHttpError', status: 404 }), 'MyHttpError')).toBe(true)
  })

  it('is a code', () => {
    expect(matches(shaped({ code: 'ECONNREFUSED' }), 'ECONNREFUSED')).toBe(true)
    expect(matches(shaped({ code: 'ECONNREFUSED' }), 'ECONNRESET')).toBe(false)
    expect(matches(shaped({ code: 'rate_limit_exceeded' }), 'rate_limit_exceeded')).toBe(true)
  })

  it('is a kind or a category', () => {
    const error = shaped({ status: 503 })
    expect(matches(error, 'server_error')).toBe(true)
    expect(matches(error, 'transient')).toBe(true)
    expect(matches(error, 'permanent')).toBe(false)
    expect(matches(error, 'timeout')).toBe(false)
    expect(matches(shaped({ status: 401 }), 'critical')).toBe(true)
    expect(matches('text', 'permanent')).toBe(true)
  })

  it('uses the given classification', () => {
    const match = compileMatchers(['auth', 'critical'])
    expect(match(new Error('x'), { category: 'permanent', kind: 'auth' })).toBe(true)
    expect(match(new Error('x'), { category: 'critical', kind: 'unknown' })).toBe(true)
    expect(match(new Error('x'), { category: 'permanent', kind: 'unknown' })).toBe(false)
  })

  it('of sql: is the beginning of a SQLSTATE', () => {
    expect(matches(shaped({ code: '23505' }), 'sql:23')).toBe(true)
    expect(matches(shaped({ code: '23505' }), 'sql:23505')).toBe(true)
    expect(matches(shaped({ code: '40001' }), 'sql:23')).toBe(false)
    expect(matches(shaped({ code: '42323' }), 'sql:23')).toBe(false)
    expect(matches(shaped({ errno: 1062, sqlState: '23000' }), 'sql:23')).toBe(true)
    expect(matches(shaped({ code: 'SQLITE_CONSTRAINT_UNIQUE' }), 'sql:23')).toBe(true)
    expect(matches(shaped({ code: 'SQLITE_BUSY' }), 'sql:23')).toBe(false)
    expect(matches(new Error('x', { cause: shaped({ code: '23505' }) }), 'sql:23')).toBe(true)
    expect(matches(new Error('x'), 'sql:23')).toBe(false)
  })

  it('of grpc: is a status', () => {
    const unavailable = shaped({ code: 14, details: '' })
    expect(matches(unavailable, 'grpc:UNAVAILABLE')).toBe(true)
    expect(matches(unavailable, 'grpc:ABORTED')).toBe(false)
    expect(matches(new Error('x', { cause: unavailable }), 'grpc:UNAVAILABLE')).toBe(true)
    expect(matches(shaped({ code: 14 }), 'grpc:UNAVAILABLE')).toBe(false)
  })

  it('matches circular causes', () => {
    const a = new Error('a')
    const b = shaped({ code: 'ECONNRESET' }, 'b', { cause: a })
    a.cause = b
    expect(matches(a, 'ECONNRESET')).toBe(true)
    expect(matches(a, 'EPIPE')).toBe(false)
  })

  it('is searched in a hundred errors and no more', () => {
    let error = shaped({ code: 'MINE' })
    for (let i = 0; i < 99; i++) error = new Error('wrap', { cause: error })
    expect(matches(error, 'MINE')).toBe(true)
    expect(matches(new Error('one more', { cause: error }), 'MINE')).toBe(false)
  })

  it('of an object without a prototype is its own property', () => {
    expect(matches(Object.assign(Object.create(null), { name: 'Odd' }), 'Odd')).toBe(true)
    expect(matches(Object.create(null), 'Odd')).toBe(false)
  })
})

describe('a rejection', () => {
  const refused = shaped({ code: 'ECONNREFUSED' })
  const codes = [
    'CIRCUIT_OPEN',
    'POOL_UNAVAILABLE',
    'BULKHEAD_FULL',
    'NETWORK_DOWN',
    'RETRY_BUDGET_EXHAUSTED',
    'CANCELLED',
  ] as const

  it.each(codes)('%s hides its causes', (code) => {
    const error = new HoldfastError(code, 'no', { cause: refused })
    expect(matches(error, 'ECONNREFUSED', 'network_error', 'ConnectionError', 'OSError')).toBe(false)
    expect(matches(new Error('x', { cause: error }), 'ECONNREFUSED')).toBe(false)
    expect(matches(new AggregateError([error]), 'ECONNREFUSED')).toBe(false)
  })

  it.each(codes)('%s matches by its code and class', (code) => {
    const error = new HoldfastError(code, 'no')
    expect(matches(error, code)).toBe(true)
    expect(matches(error, 'HoldfastError')).toBe(true)
    expect(matches(error, HoldfastError)).toBe(true)
    expect(matches(error, (thrown: unknown) => thrown === error)).toBe(true)
    expect(matches(new Error('x', { cause: error }), code)).toBe(true)
  })

  it.each(codes)('%s does not match Error or a category', (code) => {
    const error = new HoldfastError(code, 'no')
    expect(
      matches(error, Error, 'Error', 'Object', 'unknown', 'permanent', 'cancelled', 'network_error'),
    ).toBe(false)
    expect(matches(error, Object)).toBe(false)
  })

  it('does not keep its outer error from matching', () => {
    const around = new PaymentError('x', { cause: new HoldfastError('CIRCUIT_OPEN', 'no') })
    expect(matches(around, 'PaymentError')).toBe(true)
    expect(matches(around, PaymentError)).toBe(true)
    expect(matches(around, Error)).toBe(true)
    expect(matches(around, 'permanent')).toBe(false)
  })

  it('does not include other Holdfast errors, whose causes are matched', () => {
    const store = new HoldfastError('STORE_UNAVAILABLE', 'no', { cause: refused })
    expect(matches(store, 'ECONNREFUSED')).toBe(true)
    expect(matches(store, 'transient')).toBe(true)
    expect(matches(new HoldfastError('ATTEMPT_TIMEOUT', 'late'), 'timeout')).toBe(true)
    expect(matches(new HoldfastError('ATTEMPT_TIMEOUT', 'late'), 'Error')).toBe(true)
  })
})
