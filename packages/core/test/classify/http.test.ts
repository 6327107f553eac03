import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

const TABLE = {
  'critical auth': [401],
  'permanent auth': [407],
  'permanent access_denied': [403, 451],
  'permanent not_found': [404, 410],
  'permanent conflict': [409, 412, 423],
  'permanent cancelled': [499],
  'permanent validation': [400, 405, 406, 411, 413, 414, 415, 416, 417, 422, 428, 431],
  'permanent unknown': [402, 418, 421, 424, 426, 430],
  'permanent server_error': [501, 505],
  'transient timeout': [408],
  'transient unknown': [425],
  'transient rate_limited': [429],
  'transient server_error': [500, 502, 503, 504, 506, 507, 508, 511, 520, 522, 524, 529, 599],
}

describe('HTTP statuses', () => {
  for (const [answer, statuses] of Object.entries(TABLE)) {
    const [category, kind] = answer.split(' ')
    it.each(statuses)(`${answer}: %i`, (httpStatus) => {
      expect(classify(shaped({ status: httpStatus }))).toEqual({ category, kind, httpStatus })
    })
  }

  it.each([
    ['status', { status: 503 }],
    ['statusCode', { statusCode: 503 }],
    ['response.status', { response: { status: 503 } }],
    ['response.statusCode', { response: { statusCode: 503 } }],
    ['$metadata.httpStatusCode', { $metadata: { httpStatusCode: 503 } }],
    ['response behind a status in words', { status: 'UNAVAILABLE', response: { status: 503 } }],
    ['statusCode behind a status of no meaning', { status: 0, statusCode: 503 }],
  ])('is read from %s', (_, properties) => {
    expect(classify(shaped(properties))).toEqual({
      category: 'transient',
      kind: 'server_error',
      httpStatus: 503,
    })
  })

  it.each([99, 600, 1000, -503, 0, Number.NaN, '503', null, true])('is not %s', (status) => {
    expect(classify(shaped({ status }))).toEqual({ category: 'transient', kind: 'unknown' })
  })

  it('below 400 on an error are ignored', () => {
    expect(classify(shaped({ response: { statusCode: 200 } }))).toEqual({
      category: 'transient',
      kind: 'unknown',
    })
    expect(classify(shaped({ status: 399 }))).toEqual({ category: 'transient', kind: 'unknown' })
    expect(classify(shaped({ status: 400 })).httpStatus).toBe(400)
    expect(classify({ status: 100 })).toEqual({ category: 'permanent', kind: 'unknown', httpStatus: 100 })
  })

  it('of a Response are classified, and a success is not retryable', () => {
    expect(classify(new Response(null, { status: 503 }))).toEqual({
      category: 'transient',
      kind: 'server_error',
      httpStatus: 503,
    })
    expect(classify(new Response(null, { status: 401 })).category).toBe('critical')
    expect(classify(new Response(null, { status: 204 }))).toEqual({
      category: 'permanent',
      kind: 'unknown',
      httpStatus: 204,
    })
    expect(classify({ status: 429, headers: { get: () => null } }).kind).toBe('rate_limited')
  })

  it('have the retryAfter of the server', () => {
    const headers = new Headers({ 'Retry-After': '3' })
    expect(classify(new Response(null, { status: 429, headers }))).toEqual({
      category: 'transient',
      kind: 'rate_limited',
      httpStatus: 429,
      retryAfter: 3000,
    })
    expect(classify(shaped({ status: 404 })).retryAfter).toBeUndefined()
  })

  it('of an outer error are less important than the code of a broken connection', () => {
    expect(classify(shaped({ status: 503, code: 'ECONNRESET' })).httpStatus).toBeUndefined()
  })
})

describe('errors of the AWS SDK', () => {
  const aws = (name: string, httpStatusCode: number, more: object = {}) =>
    classify(shaped({ name, $fault: 'client', $metadata: { httpStatusCode }, ...more }))

  it.each([
    'ThrottlingException',
    'Throttling',
    'ThrottledException',
    'RequestThrottled',
    'RequestThrottledException',
    'EC2ThrottledException',
    'TooManyRequestsException',
    'ProvisionedThroughputExceededException',
    'RequestLimitExceeded',
    'LimitExceededException',
    'SlowDown',
  ])('%s is a rate limit, although its status is 400', (name) => {
    expect(aws(name, 400)).toEqual({ category: 'transient', kind: 'rate_limited', httpStatus: 400 })
  })

  it('RequestTimeout is a timeout, although its status is 400', () => {
    expect(aws('RequestTimeout', 400)).toEqual({ category: 'transient', kind: 'timeout', httpStatus: 400 })
    expect(aws('RequestTimeoutException', 408)).toEqual({
      category: 'transient',
      kind: 'timeout',
      httpStatus: 408,
    })
  })

  it('other names are classified by their status', () => {
    expect(aws('ValidationException', 400)).toEqual({
      category: 'permanent',
      kind: 'validation',
      httpStatus: 400,
    })
    expect(aws('ValidationException', 404).kind).toBe('not_found')
    expect(aws('ResourceNotFoundException', 400).kind).toBe('validation')
    expect(aws('InternalServerError', 500)).toEqual({
      category: 'transient',
      kind: 'server_error',
      httpStatus: 500,
    })
  })

  it('an error that the service marks as retryable is transient', () => {
    expect(aws('Odd', 400, { $retryable: { throttling: true } })).toEqual({
      category: 'transient',
      kind: 'rate_limited',
      httpStatus: 400,
    })
    expect(aws('Odd', 409, { $retryable: {} })).toEqual({
      category: 'transient',
      kind: 'server_error',
      httpStatus: 409,
    })
    expect(aws('Odd', 409, { $retryable: undefined }).kind).toBe('conflict')
  })

  it('an error of another library is classified by its status, not by its name', () => {
    expect(classify(shaped({ name: 'ThrottlingException', status: 400 })).kind).toBe('validation')
  })

  it('without a response, the name is classified', () => {
    expect(classify(shaped({ name: 'ThrottlingException' })).kind).toBe('rate_limited')
    expect(classify(shaped({ name: 'TimeoutError', $metadata: {} })).kind).toBe('timeout')
  })

  it('a rejected signature is transient once the AWS SDK has corrected its clock', () => {
    const skewed = (more: object) =>
      shaped({ name: 'RequestTimeTooSkewed', $metadata: { httpStatusCode: 403, ...more } })
    expect(classify(skewed({})).category).toBe('permanent')
    expect(classify(skewed({ clockSkewCorrected: true }))).toMatchObject({
      category: 'transient',
      httpStatus: 403,
    })
  })
})

describe('errors of the AI SDK', () => {
  const call = (statusCode: number, isRetryable: boolean) =>
    classify(shaped({ name: 'AI_APICallError', statusCode, isRetryable }))

  it('the provider decides whether an error is retried, where its status says otherwise', () => {
    expect(call(409, true)).toEqual({ category: 'transient', kind: 'unknown', httpStatus: 409 })
    expect(call(500, false)).toEqual({ category: 'permanent', kind: 'server_error', httpStatus: 500 })
  })

  it('the status decides where the provider agrees with it', () => {
    expect(call(429, true)).toMatchObject({ category: 'transient', kind: 'rate_limited' })
    expect(call(404, false)).toMatchObject({ category: 'permanent', kind: 'not_found' })
    expect(call(401, false).category).toBe('critical')
  })

  it('Retry-After is read from the response headers of the error', () => {
    const responseHeaders = { 'retry-after': '3' }
    expect(classify(shaped({ statusCode: 429, responseHeaders })).retryAfter).toBe(3000)
  })
})
