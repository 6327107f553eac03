import { describe, expect, it } from 'vitest'
import { classify, compileMatchers } from '../../src/classify/index.js'
import { named, shaped } from './shapes.js'

const matches = (error: unknown, name: string) => compileMatchers([name])(error, classify(error))

const SAMPLES = {
  timeout: shaped({ code: 'ETIMEDOUT' }),
  network: shaped({ code: 'ECONNREFUSED' }),
  socket: shaped({ code: 'UND_ERR_SOCKET' }),
  limited: shaped({ status: 429 }),
  unavailable: shaped({ status: 503 }),
  missing: shaped({ status: 404 }),
  denied: shaped({ code: 'EACCES' }),
  file: shaped({ code: 'ENOENT' }),
  busy: shaped({ code: 'EBUSY' }),
  invalid: named('ValidationError'),
  mistake: new TypeError('x is not a function'),
  fetch: new TypeError('fetch failed', { cause: shaped({ code: 'ECONNRESET' }) }),
  deadlock: shaped({ code: '40P01' }),
  duplicate: shaped({ code: '23505' }),
  sqliteDuplicate: shaped({ code: 'SQLITE_CONSTRAINT' }),
  sqliteBusy: shaped({ code: 'SQLITE_BUSY' }),
  syntax: shaped({ code: '42601' }),
  plain: new Error('x'),
  axios: shaped({ code: 'ERR_BAD_REQUEST' }),
}

type Sample = keyof typeof SAMPLES

const TABLE: { [names: string]: Sample[] } = {
  'TimeoutError socket.timeout DeadlineExceeded asyncio.TimeoutError': ['timeout'],
  'ConnectionError NetworkError SocketException ConnectException EOFException java.net.SocketException': [
    'network',
    'socket',
    'fetch',
  ],
  'ResourceExhausted google.api_core.exceptions.ResourceExhausted': ['limited'],
  'OSError IOError': ['timeout', 'network', 'socket', 'denied', 'file', 'busy', 'fetch'],
  'PermissionError AccessDeniedError': ['denied'],
  'SQLException java.sql.SQLException': ['deadlock', 'duplicate', 'sqliteDuplicate', 'sqliteBusy', 'syntax'],
  'SQLTransientConnectionException SQLTimeoutException': ['deadlock', 'sqliteBusy'],
  SQLIntegrityConstraintViolationException: ['duplicate', 'sqliteDuplicate'],
  'HttpError APIResponseError': ['limited', 'unavailable'],
  IllegalArgumentException: ['invalid', 'mistake', 'syntax'],
  'Timeout timeouterror RuntimeException socket': [],
}

describe('names of other languages', () => {
  for (const [names, expected] of Object.entries(TABLE)) {
    it.each(names.split(' '))(`%s means ${expected.join(', ') || 'nothing'}`, (name) => {
      const met = (Object.keys(SAMPLES) as Sample[]).filter((sample) => matches(SAMPLES[sample], name))
      expect(met).toEqual(expected)
    })
  }

  it('match a cause', () => {
    expect(
      matches(new Error('x', { cause: SAMPLES.duplicate }), 'SQLIntegrityConstraintViolationException'),
    ).toBe(true)
    expect(matches(new Error('x', { cause: SAMPLES.file }), 'OSError')).toBe(true)
    expect(matches(new Error('x', { cause: SAMPLES.deadlock }), 'SQLTimeoutException')).toBe(true)
  })

  it('are also names of classes', () => {
    expect(matches(named('IllegalArgumentException'), 'IllegalArgumentException')).toBe(true)
    expect(matches(named('EOFException'), 'EOFException')).toBe(true)
    expect(matches(named('HttpError'), 'HttpError')).toBe(true)
  })

  it('APIResponseError matches a class of that name only when its response is retryable', () => {
    const answer = (status: number) => shaped({ name: 'APIResponseError', status })
    expect(matches(answer(503), 'APIResponseError')).toBe(true)
    expect(matches(answer(429), 'APIResponseError')).toBe(true)
    expect(matches(answer(400), 'APIResponseError')).toBe(false)
    expect(matches(answer(401), 'APIResponseError')).toBe(false)
  })

  it('OSError matches an error with a system code', () => {
    expect(matches(shaped({ code: 'ERR_INVALID_URL' }), 'OSError')).toBe(false)
    expect(matches(shaped({ code: 'E' }), 'OSError')).toBe(false)
    expect(matches(shaped({ code: 'XEBUSY' }), 'OSError')).toBe(false)
    expect(matches(shaped({ code: 5 }), 'OSError')).toBe(false)
  })

  it('IllegalArgumentException does not match a programming error with a transient cause', () => {
    expect(matches(SAMPLES.fetch, 'IllegalArgumentException')).toBe(false)
  })
})
