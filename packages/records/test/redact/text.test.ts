import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactText } from '../../src/redact/text.js'

/** Composed, so that secret scanners do not report them. */
const shape = (...parts: string[]) => parts.join('')

const SHAPES = [
  shape('sk-', 'abcdef0123456789'),
  shape('sk_', 'live_abcdef012345'),
  shape('ghp', '_abcdefghij0123456789abcdefghij012345'),
  shape('github', '_pat_abcdefghij0123456789'),
  shape('xox', 'b-123456789012-abcdefghij'),
  shape('AKIA', 'ABCDEFGHIJKLMNOP'),
  shape('AIza', 'SyA1234567890abcdefghijklmnopqrstuv'),
  shape('eyJ', 'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'),
  shape('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIabc\ndef\n-----END RSA PRIVATE KEY-----'),
  shape('glpat', '-abcdefghij0123456789'),
]

describe('texts', () => {
  it.each([
    ['http://user:pass@host:80/a', 'http://[redacted]@host:80/a'],
    ['http://user:p@ss/w@host/a', 'http://[redacted]@host/a'],
    ['socks5://u:p@10.0.0.1:1080', 'socks5://[redacted]@10.0.0.1:1080'],
    ['redis://:pw@cache:6379/0', 'redis://[redacted]@cache:6379/0'],
    ['https://abc123@github.com/x', 'https://[redacted]@github.com/x'],
    ['"http://u:p@a/" and <http://v:q@b/>', '"http://[redacted]@a/" and <http://[redacted]@b/>'],
    ['proxy user:secret1@127.0.0.1:9001 refused', 'proxy [redacted]@127.0.0.1:9001 refused'],
    ['GET /a?token=abc&page=2', 'GET /a?token=[redacted]&page=2'],
    ['GET /a?page=2&api_key=abc', 'GET /a?page=2&api_key=[redacted]'],
    ['GET /a?key=abc&sig=def&x=1', 'GET /a?key=[redacted]&sig=[redacted]&x=1'],
    ['Authorization: Bearer x', 'Authorization: [redacted]'],
    ['authorization: Basic dTpw, retrying', 'authorization: [redacted], retrying'],
    ['{"Authorization":"Bearer abc","a":1}', '{"Authorization":"[redacted]","a":1}'],
    ['sent Bearer abc.def to it', 'sent Bearer [redacted] to it'],
    ['sent Basic dXNlcjpwYXNz to it', 'sent Basic [redacted] to it'],
    ['Authorization: Digest username="ann", response="ab12"', 'Authorization: [redacted]'],
    ['Authorization: Key hunter2SECRET', 'Authorization: [redacted]'],
    ['Authorization: SSWS 00hunter2', 'Authorization: [redacted]'],
    ['authorization=Bot hunter2.abc.def\nhost: a', 'authorization=[redacted]\nhost: a'],
    ['Proxy-Authorization: Klaviyo-API-Key pk_hunter2', 'Proxy-Authorization: [redacted]'],
    ['Authorization: hunter2 with blanks, and a comma', 'Authorization: [redacted]'],
    ["Authorization: Key hunt'er2", 'Authorization: [redacted]'],
    ['Authorization: OAuth realm="x", oauth_signature="hunter2"', 'Authorization: [redacted]'],
    [
      'Authorization: AWS4-HMAC-SHA256 Credential=a/b/aws4_request, SignedHeaders=host, Signature=hunter2',
      'Authorization: [redacted]',
    ],
    ['Authorization: Bearer hunter!2, SECRET', 'Authorization: [redacted]'],
    ['{"Authorization":"Key hunter2 SECRET","a":1}', '{"Authorization":"[redacted]","a":1}'],
    ["{ authorization: 'Key hunter2', a: 1 }", "{ authorization: '[redacted]', a: 1 }"],
    [
      '{"Authorization":"Digest username=\\"ann\\", r=\\"ab\\"","a":1}',
      '{"Authorization":"[redacted]","a":1}',
    ],
    ['{\\"authorization\\":\\"Key hunter2\\",\\"a\\":1}', '{\\"authorization\\":\\"[redacted]\\",\\"a\\":1}'],
    ['{"said":"Authorization: Key hunter2","a":1}', '{"said":"Authorization: [redacted]","a":1}'],
    ['{"said":"Authorization: Key hunter2\\nhost: a"}', '{"said":"Authorization: [redacted]\\nhost: a"}'],
    [
      '["Host","a","Authorization","Key hunter2","Cookie","sid=1"]',
      '["Host","a","Authorization","[redacted]","Cookie","[redacted]"]',
    ],
    ['{"authorization":["Key hunter2"]}', '{"authorization":["[redacted]"]}'],
    ['Cookie: sid=1; theme=dark', 'Cookie: [redacted]'],
    ['Cookie: sid="hunter2"; b=hunter3', 'Cookie: [redacted]'],
    ['{"said":"Cookie: sid=1; b=2","a":1}', '{"said":"Cookie: [redacted]","a":1}'],
    ['GET /a?user=ann&pass=hunter2&b=1', 'GET /a?user=ann&pass=[redacted]&b=1'],
    ['GET /a?pass=hunter2', 'GET /a?pass=[redacted]'],
    ['user=ann db_pass=hunter2 pw=hunter3', 'user=ann db_pass=[redacted] pw=[redacted]'],
    ['{"pass":"hun ter2","auth":"ann:hunter2"}', '{"pass":"[redacted]","auth":"[redacted]"}'],
    ["{ auth: 'ann:hunter2' }", "{ auth: '[redacted]' }"],
    ['x-auth-key: hunter2', 'x-auth-key: [redacted]'],
    ['passPhrase=hunter2 password1=hunter3', 'passPhrase=[redacted] password1=[redacted]'],
    ['secretValue: hunter2', 'secretValue: [redacted]'],
    [
      '{"privateKeyPem":"hunter2","authTokens":"hunter3"}',
      '{"privateKeyPem":"[redacted]","authTokens":"[redacted]"}',
    ],
    ['set-cookie: sid=1; Path=/\nx: 1', 'set-cookie: [redacted]\nx: 1'],
    ['password=hunter2 is wrong', 'password=[redacted] is wrong'],
    ['{"password":"hun ter2","user":"ann"}', '{"password":"[redacted]","user":"ann"}'],
    ["client_secret: 'abc'", "client_secret: '[redacted]'"],
    ['{"password":"a\\"b c","n":1}', '{"password":"[redacted]","n":1}'],
    ['"{\\"token\\":\\"a b\\",\\"n\\":1}"', '"{\\"token\\":\\"[redacted]\\",\\"n\\":1}"'],
    ['{\\"Authorization\\":\\"Bearer t1\\"}', '{\\"Authorization\\":\\"[redacted]\\"}'],
    ['Server=a;Password=abc;Db=x', 'Server=a;Password=[redacted];Db=x'],
    ['X-Api-Key: abc', 'X-Api-Key: [redacted]'],
  ])('%s', (given, expected) => {
    expect(redactText(given)).toBe(expected)
  })

  it.each(SHAPES)('are redacted if they have the format of a known key: %s', (secret) => {
    const text = redactText(`it said ${secret} and stopped`)
    expect(text).not.toContain(secret.slice(8, 20))
    expect(text).toContain('[redacted]')
  })

  it.each([
    'connect ECONNREFUSED 127.0.0.1:5432',
    'Unexpected token < in JSON at position 0',
    'http://localhost:3000/users/ann@example.com',
    'mail to ann@example.com failed',
    'the bearer token is missing',
    'Basic authentication failed',
    'task-management-service is down',
    'max_tokens: 5, idempotency_key=abc',
    'https://example.com/a?page=2#top',
    'keep the monkey: banana',
    'the digest differs: a=1, b=2',
    'bypass=1, compass: north, tests pass: 3',
    'the author: ann',
  ])('are kept: %s', (text) => {
    expect(redactText(text)).toBe(text)
  })

  it('are not changed by a second redaction', () => {
    const more = [
      '{"authorization":["Key a"]}',
      "{ cookie: 'a', auth: 'b' }",
      'authorization: Key a',
      '?pass=a&pw=b',
    ]
    for (const text of [
      ...SHAPES,
      ...more,
      'http://u:p@h/?token=a',
      'Authorization: Bearer x',
      '{"password":"a"}',
    ]) {
      const once = redactText(text)
      expect(redactText(once)).toBe(once)
    }
  })

  it('are redacted without any credentials of URLs', () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9!$%&*()_+=.~-]{4,20}$/)
    fc.assert(
      fc.property(word, word, fc.constantFrom('', ' '), (user, password, space) => {
        const text = redactText(`${space}http://${user}:zZ9${password}@example.com:80/path failed`)
        expect(text).toBe(`${space}http://[redacted]@example.com:80/path failed`)
      }),
    )
  })

  it('are truncated without a part of a secret', () => {
    const secret = SHAPES[0] as string
    for (let at = 8192 - 30; at < 8192 + 5; at++) {
      const text = redactText(`${'x '.repeat(5000).slice(0, at - 1)} ${secret} ${'y '.repeat(5000)}`)
      expect(text.length).toBeLessThan(8300)
      expect(text).not.toContain(secret.slice(0, 6))
      expect(text).toMatch(/… \(\d+ characters\)$/)
    }
  })

  it('are truncated without a URL whose credentials are cut', () => {
    for (const place of [6000, 8100, 8190, 8500]) {
      const text = redactText(`${'x '.repeat(5000).slice(0, place)}http://ann:${'s3cret'.repeat(900)}@host/`)
      expect(text).not.toContain('s3cret')
    }
  })

  it('are redacted in linear time', () => {
    const nasty = [
      '://a:'.repeat(2000),
      'a-'.repeat(4000),
      'token'.repeat(2000),
      'eyJaaaaa.'.repeat(900),
      '@'.repeat(8000),
      'authorization: '.repeat(600),
      'authorization="\\'.repeat(600),
      '="'.repeat(2500),
      `authorization: ${'a="b'.repeat(2000)}`,
      'pass_'.repeat(1800),
      `authorization:${' '.repeat(8000)}`,
      `cookie: [${' '.repeat(8000)}`,
    ]
    // A pattern with exponential time would not end.
    for (const text of nasty) expect(redactText(text).length).toBeGreaterThan(0)
  })
})
