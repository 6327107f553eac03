import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Classification, classify, compileMatchers, matcherProblems } from '../../src/classify/index.js'
import { isTransientSqlError } from '../../src/sql/index.js'
import { shaped } from './shapes.js'

const KEYS =
  `code name message cause errors issues status statusCode response headers retryAfter errno sqlState errcode
  details metadata $metadata $retryable $response constructor config path get`.split(/\s+/)
const WORDS = [
  'ECONNRESET',
  'AbortError',
  'AggregateError',
  'ERR_SQLITE_ERROR',
  'SQLITE_BUSY',
  '40001',
  'ERR_CANCELED',
]

const throwError = (): never => {
  throw new Error('trap')
}
const TRAPS = ['get', 'has', 'getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor'] as const

/** The values are wrapped in functions, because fast-check inspects what it generates. */
type Make = () => unknown

const revoked: Make = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const hostile: fc.Arbitrary<Make> = fc.oneof(
  fc
    .subarray([...TRAPS], { minLength: 1 })
    .map(
      (traps) => () => new Proxy(new Error('x'), Object.fromEntries(traps.map((trap) => [trap, throwError]))),
    ),
  fc
    .constantFrom(...KEYS)
    .map((key) => () => Object.defineProperty(new Error('x'), key, { get: throwError })),
  fc.constant(revoked),
)

function build(type: new (message: string) => object, props: { [key: string]: Make }): object {
  const error = new type('x')
  for (const [key, make] of Object.entries(props)) {
    Object.defineProperty(error, key, { value: make(), enumerable: true })
  }
  return error
}

const { value: anything } = fc.letrec<{ value: Make; error: Make }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.anything({ withNullPrototype: true, withMap: true, withBigInt: true }).map((value) => () => value),
    fc.constantFrom(...WORDS, Symbol('x'), 503, 14, 1213, () => 1).map((value) => () => value),
    hostile,
    tie('error'),
    fc.array(tie('error'), { maxLength: 3 }).map((makes) => () => makes.map((make) => make())),
  ),
  error: fc
    .record({
      type: fc.constantFrom(Error, TypeError, Object),
      props: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 4 }),
    })
    .map(
      ({ type, props }) =>
        () =>
          build(type, props),
    ),
}))

const CATEGORIES = ['transient', 'permanent', 'critical']
const KINDS =
  `timeout network_error rate_limited server_error auth validation not_found conflict disk_full access_denied
  cancelled unknown`.split(/\s+/)

function expectSound(answer: Classification): void {
  expect(CATEGORIES).toContain(answer.category)
  expect(KINDS).toContain(answer.kind)
  const { httpStatus = 100, sqlState = 'XX', retryAfter = 0, fields = [] } = answer
  expect([typeof httpStatus, typeof sqlState, Array.isArray(fields)]).toEqual(['number', 'string', true])
  expect(retryAfter >= 0 && retryAfter < Infinity).toBe(true)
}

describe('any thrown value', () => {
  it('is classified with a known category and kind', () => {
    fc.assert(
      fc.property(anything, (make) => expectSound(classify(make(), 0))),
      { numRuns: 2000 },
    )
  })

  it('is classified the same way twice', () => {
    fc.assert(
      fc.property(anything, (make) => {
        const thrown = make()
        expect(classify(thrown, 0)).toEqual(classify(thrown, 0))
      }),
    )
  })

  it('is matched or not, without an error', () => {
    class Mine extends Error {}
    const names = [
      'Error',
      'ECONNRESET',
      'timeout',
      'sql:40',
      'grpc:UNAVAILABLE',
      'OSError',
      'SQLException',
      'HttpError',
    ]
    const match = compileMatchers([...names, 'IllegalArgumentException', Mine, () => false], throwError)
    fc.assert(
      fc.property(anything, (make) => {
        const thrown = make()
        return typeof match(thrown, classify(thrown)) === 'boolean'
      }),
      { numRuns: 1000 },
    )
  })

  it('is a transient SQL error or not, without an error', () => {
    fc.assert(
      fc.property(anything, (make) => typeof isTransientSqlError(make()) === 'boolean'),
      { numRuns: 1000 },
    )
  })

  it('is rejected as a matcher', () => {
    fc.assert(fc.property(fc.anything(), (value) => Array.isArray(matcherProblems('retryOn', value))))
  })

  it.each(TRAPS)('as a Proxy that throws on %s has no classification', (trap) => {
    const proxy = new Proxy(Object.assign(new Error('x'), { code: 'ECONNRESET' }), { [trap]: throwError })
    expect(() => classify(proxy)).not.toThrow()
    expect(classify(new Proxy({}, { get: throwError }))).toEqual({ category: 'permanent', kind: 'unknown' })
    expect(classify(new Proxy({}, { get: throwError, getPrototypeOf: throwError }))).toEqual({
      category: 'permanent',
      kind: 'unknown',
    })
  })

  it('with a property that throws is classified by the properties before it', () => {
    const trapped = Object.defineProperty(new Error('x'), 'status', { get: throwError })
    expect(classify(trapped)).toEqual({ category: 'transient', kind: 'unknown' })
    const inner = Object.defineProperty(new Error('x'), 'code', { get: throwError })
    expect(classify(shaped({ retryAfter: 5 }, 'x', { cause: inner }))).toEqual({
      category: 'transient',
      kind: 'unknown',
      retryAfter: 5,
    })
    expect(classify(new TypeError('x', { cause: inner })).category).toBe('permanent')
  })

  it('with a cause that throws is matched by its other properties', () => {
    const hidden = Object.defineProperty(shaped({ code: 'MINE' }), 'cause', { get: throwError })
    expect(compileMatchers(['MINE'])(hidden, classify(hidden))).toBe(true)
    expect(compileMatchers(['YOURS'])(hidden, classify(hidden))).toBe(false)
  })
})
