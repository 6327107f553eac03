import fc from 'fast-check'
import { formatProblem } from 'holdfast/internal'
import { describe, expect, it } from 'vitest'
import { makeRedactor, redactProblems } from '../../src/redact/redact.js'

const redact = makeRedactor({ keys: ['pin', 'x_tenant'], patterns: ['ACCT-\\d+'] })

describe('values under secret keys', () => {
  it.each([
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'password',
    'PASSWD',
    'dbPassword',
    'db_password',
    'password_hash',
    'secret',
    'clientSecret',
    'CLIENT_SECRET',
    'token',
    'csrfToken',
    'api_key',
    'apikey',
    'apiKey',
    'X-Api-Key',
    'access_token',
    'refreshToken',
    'private_key',
    'credentials',
    'accesstoken',
    'pass',
    'smtpPass',
    'pw',
    'passPhrase',
    'passphrase',
    'passwords',
    'password1',
    'PASSWORD_2',
    'tokens',
    'authTokens',
    'auth',
    'x-auth-key',
    'X-Auth-Token',
    'privateKeyPem',
    'PRIVATE_KEY_PEM',
    'secretValue',
    'token2',
    'apiKeyOld',
  ])('are redacted for %s', (key) => {
    expect(redact({ [key]: 'x1' })).toEqual({ [key]: '[redacted]' })
  })

  it.each([
    'idempotency_key',
    'session_id',
    'token_count',
    'max_tokens',
    'secretary',
    'tokenizer',
    'completionTokens',
    'compass',
    'passed',
    'keyboard',
    'author',
    'operation',
  ])('are kept for %s', (key) => {
    expect(redact({ [key]: 'x1' })).toEqual({ [key]: 'x1' })
  })

  it('are kept if they are counts of tokens or flags', () => {
    const counts = { tokens: 512, pass: true, max_tokens: 5, auth: false, usage: { total_tokens: 7 } }
    expect(redact(counts)).toEqual(counts)
  })

  it('are redacted in lists and objects of tokens, and copied in an object of user and password', () => {
    expect(
      redact({
        tokens: ['a'],
        authTokens: { ann: 'a' },
        auth: ['ann', 'b'],
        other: { auth: { user: 'ann', pass: 'b' } },
      }),
    ).toEqual({
      tokens: '[redacted]',
      authTokens: '[redacted]',
      auth: '[redacted]',
      other: { auth: { user: 'ann', pass: '[redacted]' } },
    })
  })

  it('are redacted after a secret name in a flat list of headers', () => {
    expect(redact(['Host', 'a', 'X-Auth-Token', 'v', 'x-auth-key', 'w', 'Accept', '*/*'])).toEqual([
      'Host',
      'a',
      'X-Auth-Token',
      '[redacted]',
      'x-auth-key',
      '[redacted]',
      'Accept',
      '*/*',
    ])
    expect(redact(['password', 'email', 'name'])).toEqual(['password', 'email', 'name'])
    expect(redact([['set-cookie', ['sid=1', 'b=2']]])).toEqual([['set-cookie', '[redacted]']])
  })

  it('are redacted in objects of name and value', () => {
    expect(
      redact({
        headers: [
          { name: 'X-Api-Key', value: 'k' },
          { name: 'Accept', value: 'a' },
        ],
      }),
    ).toEqual({
      headers: [
        { name: 'X-Api-Key', value: '[redacted]' },
        { name: 'Accept', value: 'a' },
      ],
    })
  })

  it('are redacted for configured keys in any spelling', () => {
    expect(redact({ PIN: 1, 'x-tenant': 'a', xTenant: 'b' })).toEqual({
      PIN: '[redacted]',
      'x-tenant': '[redacted]',
      xTenant: '[redacted]',
    })
  })

  it('are kept if they are null or undefined', () => {
    expect(redact({ password: null, token: undefined })).toEqual({ password: null, token: undefined })
  })

  it('are redacted in arrays, maps, headers, sets and pairs', () => {
    expect(
      redact({
        list: [{ deep: { password: 'p' } }],
        map: new Map<unknown, unknown>([
          ['token', 't'],
          [1, 'one'],
        ]),
        headers: new Headers({ authorization: 'Bearer t', accept: 'text/html' }),
        set: new Set(['plain', 'Bearer abcdef']),
        entries: [
          ['password', 'p'],
          ['user', 'ann'],
        ],
        raw: ['Host', 'a', 'Cookie', 'sid=1'],
        query: new URLSearchParams('token=t&page=1'),
        url: new URL('http://u:p@h/?api_key=k'),
      }),
    ).toEqual({
      list: [{ deep: { password: '[redacted]' } }],
      map: { token: '[redacted]', 1: 'one' },
      headers: { authorization: '[redacted]', accept: 'text/html' },
      set: ['plain', 'Bearer [redacted]'],
      entries: [
        ['password', '[redacted]'],
        ['user', 'ann'],
      ],
      raw: ['Host', 'a', 'Cookie', '[redacted]'],
      query: 'token=[redacted]&page=1',
      url: 'http://[redacted]@h/?api_key=[redacted]',
    })
  })

  it('are redacted in errors and their causes, without stacks', () => {
    const error = Object.assign(
      new Error('login with password=hunter2 failed', { cause: new Error('GET http://u:p@h/') }),
      {
        code: 'E1',
        config: { headers: { Authorization: 'Bearer t' } },
      },
    )
    expect(redact({ error })).toEqual({
      error: {
        name: 'Error',
        message: 'login with password=[redacted] failed',
        code: 'E1',
        config: { headers: { Authorization: '[redacted]' } },
        cause: { name: 'Error', message: 'GET http://[redacted]@h/' },
      },
    })
  })
})

describe('a redacted copy', () => {
  it('has words in brackets for values that cannot be copied', () => {
    const circular: Record<string, unknown> = { name: 'a' }
    circular.self = circular
    const bag = {
      circular,
      big: 10n,
      fn: () => 1,
      sym: Symbol('s'),
      date: new Date(5),
      never: new Date(Number.NaN),
      bytes: new Uint8Array(3),
      promise: Promise.resolve(1),
      pattern: /a/g,
      proxy: new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('no')
          },
        },
      ),
      get bad(): unknown {
        throw new Error('no')
      },
      point: new (class Point {
        x = 1
        toJSON() {
          return { x: this.x, token: 'abc' }
        }
      })(),
    }
    expect(redact(bag)).toEqual({
      circular: { name: 'a', self: '[circular]' },
      big: '10n',
      fn: '[function]',
      sym: '[symbol]',
      date: new Date(5),
      never: '[invalid date]',
      bytes: '[3 bytes]',
      promise: '[promise]',
      pattern: '/a/g',
      proxy: '[unreadable]',
      bad: '[unreadable]',
      point: { x: 1, token: '[redacted]' },
    })
  })

  it('does not treat a repeated object as circular', () => {
    const shared = { a: 1 }
    expect(redact({ one: shared, two: shared })).toEqual({ one: { a: 1 }, two: { a: 1 } })
  })

  it('is limited in depth', () => {
    let deep: unknown = 'bottom'
    for (let i = 0; i < 10_000; i++) deep = { deep }
    expect(JSON.stringify(redact(deep))).toContain('[too deep]')
  })

  it('is limited in size', () => {
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))
    expect(Object.keys(redact(wide)).length).toBeLessThan(6000)
    expect(redact(new Array(100_000).fill({ a: 1 })).length).toBeLessThan(6000)
    const texts = new Array(1000).fill('x'.repeat(8000))
    expect(JSON.stringify(redact(texts)).length).toBeLessThan(200_000)
  })

  it('keeps a key named __proto__ without changing the prototype', () => {
    const copy = redact(JSON.parse('{"__proto__":{"polluted":true},"a":1}') as object)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":true},"a":1}')
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  })

  it('does not change the original', () => {
    const given = { password: 'p', list: [{ token: 't' }] }
    redact(given)
    expect(given).toEqual({ password: 'p', list: [{ token: 't' }] })
  })

  it('is JSON for generated values, and never throws', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
        (value) => {
          const once = JSON.stringify(redact({ value }))
          expect(typeof once).toBe('string')
        },
      ),
    )
  })

  it('equals plain data without secrets', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, depthSize: 'small' }), (value) => {
        const text = JSON.stringify(value)
        fc.pre(/^[\w\s{}[\],.":-]*$/.test(text) && !/pass|pwd|token|secret|key|basic|bearer/i.test(text))
        expect(JSON.stringify(redact(value))).toBe(text)
      }),
    )
  })
})

describe('patterns', () => {
  it('redact their matches in texts at any depth', () => {
    expect(redact({ a: ['from ACCT-12 to ACCT-9'] })).toEqual({ a: ['from [redacted] to [redacted]'] })
  })

  it.each([
    ['(', 'Unterminated group'],
    ['', 'expected a regular expression'],
    ['x*', 'matches no empty text'],
    ['(a+)+$', 'no repetition inside a repetition'],
    ['(?:a|a)*b', 'no repetition inside a repetition'],
    ['(\\w|\\d)+x', 'no repetition inside a repetition'],
    ['((ab)*c){2,}', 'no repetition inside a repetition'],
    ['x'.repeat(2000), 'expected at most 1000'],
  ])('that are not valid are reported: %s', (pattern, said) => {
    expect(redactProblems({ patterns: ['fine', pattern] })).toEqual([
      expect.objectContaining({ path: 'redact.patterns.1', code: 'invalid' }),
    ])
    expect(redactProblems({ patterns: [pattern] }).map(formatProblem)[0]).toContain(said)
    expect(() => makeRedactor({ patterns: [pattern] })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS' }),
    )
  })

  it.each([
    '\\d{4}-\\d{4}',
    '(?:\\d{4}-){3}\\d{4}',
    '(?:foo|bar)+',
    '[a-z+*]+@corp',
    '\\(\\w+\\)',
    '(?<year>\\d+)x',
  ])('that are valid are accepted: %s', (pattern) => {
    expect(redactProblems({ patterns: [pattern] })).toEqual([])
  })
})
