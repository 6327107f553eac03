import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { named } from './shapes.js'

const TABLE = {
  'transient timeout':
    'TimeoutError RequestTimeoutError ConnectTimeoutError KnexTimeoutError RequestTimeout SomeTimeoutException',
  'transient network_error': `APIConnectionError NetworkError MongoNetworkError SocketError SocketException ConnectionError
    ConnectionRefused`,
  'transient rate_limited': 'ThrottlingException TooManyRequestsError LimitExceededException',
  'permanent cancelled': 'AbortError CanceledError CancelledError APIUserAbortError',
  'permanent validation': 'ValidationError SequelizeValidationError ValidationException',
  'permanent unknown': `TypeError RangeError ReferenceError SyntaxError EvalError URIError AssertionError
    AssertionError_[ERR_ASSERTION]`,
  'transient unknown': `Error MyError TimeoutErrors SocketErrors XAbortError AbortErrors MyTypeErrors CanceledErrors
    ValidationErrors XTypeError SizeLimitExceeded`,
}

describe('names of errors and of their classes', () => {
  for (const [answer, names] of Object.entries(TABLE)) {
    const [category, kind] = answer.split(' ')
    it.each(names.split(/\s+/).map((name) => name.replace('_', ' ')))(`${answer}: %s`, (name) => {
      expect(classify(named(name))).toEqual({ category, kind })
      const Named = { [name]: class extends Error {} }[name] as new () => Error
      expect(classify(new Named())).toEqual({ category, kind })
    })
  }

  it('are checked name first, then class', () => {
    class TimeoutError extends Error {
      override name = 'AbortError'
    }
    expect(classify(new TimeoutError()).kind).toBe('cancelled')
  })

  it('a DOMException is classified by its name, not by its number', () => {
    expect(classify(new DOMException('late', 'TimeoutError'))).toEqual({
      category: 'transient',
      kind: 'timeout',
    })
    expect(classify(new DOMException('stop', 'AbortError'))).toEqual({
      category: 'permanent',
      kind: 'cancelled',
    })
    expect(classify(new DOMException('odd', 'DataError'))).toEqual({ category: 'transient', kind: 'unknown' })
  })
})

describe('programming errors', () => {
  it.each([TypeError, RangeError, ReferenceError, SyntaxError])(
    '%o and what inherits from it are permanent',
    (type) => {
      class Mine extends type {
        override name = 'Mine'
      }
      expect(classify(new type('x'))).toEqual({ category: 'permanent', kind: 'unknown' })
      expect(classify(new Mine('x'))).toEqual({ category: 'permanent', kind: 'unknown' })
    },
  )

  it('are classified by a cause that is more specific', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    expect(classify(new TypeError('fetch failed', { cause: refused })).kind).toBe('network_error')
    expect(classify(new TypeError('bad', { cause: new Error('unknown scheme') }))).toEqual({
      category: 'permanent',
      kind: 'unknown',
    })
    expect(classify(new Error('wrapped', { cause: new TypeError('x') })).category).toBe('permanent')
  })
})

describe('messages of errors without other properties', () => {
  it.each([
    'fetch failed',
    'Failed to fetch',
    'Failed to fetch (example.com)',
    'NetworkError when attempting to fetch resource.',
    'Load failed',
    'Network request failed',
    'Network connection lost.',
    'network error',
    'The Internet connection appears to be offline.',
    'The network connection was lost.',
    'error sending request for url (http://x/)',
    'terminated',
  ])('a TypeError of fetch: %s', (message) => {
    expect(classify(new TypeError(message))).toEqual({ category: 'transient', kind: 'network_error' })
  })

  it.each([
    ['Connection terminated unexpectedly', 'network_error'],
    ['Connection terminated due to connection timeout', 'timeout'],
    ['timeout expired', 'timeout'],
    ['timeout exceeded when trying to connect', 'timeout'],
    ['Query read timeout', 'timeout'],
  ])('an error of pg: %s', (message, kind) => {
    expect(classify(new Error(message))).toEqual({ category: 'transient', kind })
  })

  it.each(['prefetch failed', 'Upload failed', 'my timeout expired', 'The end'])(
    'says nothing: %s',
    (message) => {
      expect(classify(new Error(message)).kind).toBe('unknown')
    },
  )

  it('is less important than a cause', () => {
    expect(
      classify(new TypeError('fetch failed', { cause: new Error('redirect count exceeded') })).category,
    ).toBe('permanent')
    expect(classify(new TypeError('fetch failed', { cause: null })).kind).toBe('network_error')
  })

  it('must be a string', () => {
    expect(classify(Object.assign(new Error(), { message: ['fetch failed'] })).kind).toBe('unknown')
  })
})

describe('a thrown value that is not an error', () => {
  it.each([
    undefined,
    null,
    'ECONNREFUSED',
    503,
    true,
    Symbol('x'),
    1n,
    {},
    [],
    () => {},
    class {},
    Object.create(null),
    Object.freeze({ message: 'x' }),
    new Map(),
    { status: 'no' },
  ])('%o is permanent', (thrown) => {
    expect(classify(thrown)).toEqual({ category: 'permanent', kind: 'unknown' })
  })

  it('is classified when it has the properties of an error', () => {
    expect(classify({ code: 'ECONNREFUSED' })).toEqual({ category: 'transient', kind: 'network_error' })
    expect(classify(Object.assign(Object.create(null), { code: 'EPIPE' })).kind).toBe('network_error')
    expect(classify({ name: 'AbortError' }).kind).toBe('cancelled')
  })

  it('does not include an error of another realm', () => {
    expect(runInNewContext('new Error("x")') instanceof Error).toBe(false)
    expect(classify(runInNewContext('new Error("x")'))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(runInNewContext('new TypeError("x")')).category).toBe('permanent')
  })

  it('does not include an error that is frozen or has no stack', () => {
    expect(classify(Object.freeze(new Error('x')))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(Object.create(Error.prototype))).toEqual({ category: 'transient', kind: 'unknown' })
  })
})
