import { describe, expect, test } from 'vitest'
import { createToken, revokeToken } from '../../src/auth/tokens.js'
import { type Asked, type Fixture, open } from '../fixture.js'

const HOST = { host: 'localhost:8000' }
const SESSION = '/api/v1/access/session'
const TRIP = '/api/v1/circuit-breakers/policy%3Aguarded/trip'
const DAY_MS = 86_400_000

/** The attributes of the cookie of a response, by lower-case name. The first one is the cookie itself. */
function cookieOf({ headers }: Asked): { name: string; value: string; attributes: Record<string, string> } {
  const [first = '', ...rest] = (headers.get('set-cookie') ?? '').split('; ')
  const [name = '', value = ''] = first.split('=')
  const attributes = Object.fromEntries(
    rest.map((part) => {
      const [key = '', text = ''] = part.split('=')
      return [key.toLowerCase(), text]
    }),
  )
  return { name, value, attributes }
}

async function signIn(fixture: Fixture, headers: Record<string, string> = {}, body?: object) {
  const { token } = await createToken(fixture.hf, { name: 'ann', role: 'admin' })
  const answer = await fixture.ask('POST', SESSION, {
    headers: { ...HOST, authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  })
  const { name, value, attributes } = cookieOf(answer)
  const cookie = { ...HOST, cookie: `theme=dark; ${name}=${value}` }
  return { answer, token, name, value, attributes, cookie, csrf: answer.body.csrf_token as string }
}

describe('a sign-in', () => {
  test('exchanges a token for a cookie that scripts and other sites cannot use', async () => {
    const fixture = await open()
    const { answer, token, name, value, attributes, cookie } = await signIn(fixture)
    expect(answer).toMatchObject({ status: 201, body: { name: 'ann', role: 'admin', token: true } })
    expect(name).toBe('holdfast_8000')
    expect(attributes).toEqual({ path: '/', httponly: '', samesite: 'Strict' })
    expect(value).not.toContain(token)
    expect(JSON.stringify(answer.body)).not.toContain(value)
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({
      status: 200,
      body: answer.body,
    })
  })

  test('is kept on the device for 30 days on request', async () => {
    const fixture = await open()
    const { attributes, cookie } = await signIn(fixture, {}, { keep: true })
    expect(attributes['max-age']).toBe('2592000')
    await fixture.clock.advance(30 * DAY_MS - 1)
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({ status: 200 })
    await fixture.clock.advance(1)
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({ status: 401 })
  })

  test('ends after a day where it is not kept, even in a browser that restores its tabs', async () => {
    const fixture = await open()
    const { cookie } = await signIn(fixture)
    await fixture.clock.advance(DAY_MS)
    const answer = await fixture.ask('GET', '/api/v1/access', { headers: cookie })
    expect(answer.status).toBe(401)
    expect(cookieOf(answer)).toMatchObject({ value: '', attributes: { 'max-age': '0' } })
  })

  test.each(['https', 'HTTPS', 'https,http', 'https, http'])(
    'has a Secure cookie with TLS to a proxy that sends x-forwarded-proto: %s',
    async (proto) => {
      const headers = { 'x-forwarded-proto': proto }
      const fixture = await open()
      const { name, attributes, cookie } = await signIn(fixture, headers)
      expect(name).toBe('__Host-holdfast_8000')
      expect(attributes).toMatchObject({ secure: '', path: '/' })
      const ask = (more: object) => fixture.ask('GET', '/api/v1/access', { headers: { ...cookie, ...more } })
      expect(await ask(headers)).toMatchObject({ status: 200 })
      expect(await ask({}), 'without TLS').toMatchObject({ status: 401 })
    },
  )

  test('stores no secret, only hashes', async () => {
    const fixture = await open()
    const { value, token } = await signIn(fixture)
    const stored = JSON.stringify(await fixture.hf.store.values.list(''))
    expect(stored).toContain('sign_in:')
    expect(stored).not.toContain(value)
    expect(stored).not.toContain(token)
  })

  test('ends with the sign-out', async () => {
    const fixture = await open()
    const { cookie, csrf } = await signIn(fixture)
    const answer = await fixture.ask('DELETE', SESSION, { headers: { ...cookie, 'x-csrf-token': csrf } })
    expect(answer.status).toBe(204)
    expect(cookieOf(answer)).toMatchObject({
      name: 'holdfast_8000',
      value: '',
      attributes: { 'max-age': '0' },
    })
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({ status: 401 })
    expect(await fixture.hf.store.values.list('sign_in:')).toEqual([])
  })

  test('ends when its token is revoked, also where a new token has the same name', async () => {
    const fixture = await open()
    const { cookie } = await signIn(fixture)
    await createToken(fixture.hf, { name: 'bob', role: 'viewer' })
    await revokeToken(fixture.hf, 'ann')
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({ status: 401 })
    await createToken(fixture.hf, { name: 'ann', role: 'admin' })
    expect(await fixture.ask('GET', '/api/v1/access', { headers: cookie })).toMatchObject({ status: 401 })
  })

  test('does not count against the limit of wrong tokens after it has ended', async () => {
    const fixture = await open()
    const { cookie, token } = await signIn(fixture)
    await fixture.clock.advance(DAY_MS)
    for (let i = 0; i < 30; i++)
      expect((await fixture.ask('GET', '/api/v1/access', { headers: cookie })).status).toBe(401)
    const headers = { authorization: `Bearer ${token}` }
    expect(await fixture.ask('GET', '/api/v1/access', { headers })).toMatchObject({ status: 200 })
  })

  test('is rejected with a wrong token, and with 429 and the time to wait after ten of them', async () => {
    const { hf, ask } = await open()
    await createToken(hf, { name: 'ann', role: 'viewer' })
    const attempt = () => ask('POST', SESSION, { headers: { ...HOST, authorization: 'Bearer hft_wrong' } })
    for (let i = 0; i < 10; i++) expect(await attempt()).toMatchObject({ status: 401 })
    const limited = await attempt()
    expect(limited.status).toBe(429)
    expect(limited.headers.get('retry-after')).toBe('60')
    expect(limited.headers.get('set-cookie')).toBeNull()
  })

  test('deletes the stored sign-ins that have ended', async () => {
    const fixture = await open()
    const { token } = await signIn(fixture)
    await fixture.clock.advance(DAY_MS)
    await fixture.ask('POST', SESSION, { headers: { ...HOST, authorization: `Bearer ${token}` } })
    expect(await fixture.hf.store.values.list('sign_in:')).toHaveLength(1)
  })

  test('replaces the oldest of 100 sign-ins of the same token, and none of another token', async () => {
    const fixture = await open()
    const { token, cookie } = await signIn(fixture)
    const { token: other } = await createToken(fixture.hf, { name: 'bob', role: 'viewer' })
    const add = async (bearer: string) => {
      await fixture.clock.advance(1000)
      const answer = await fixture.ask('POST', SESSION, {
        headers: { ...HOST, authorization: `Bearer ${bearer}` },
      })
      const { name, value } = cookieOf(answer)
      return { ...HOST, cookie: `${name}=${value}` }
    }
    const status = async (headers: Record<string, string>) =>
      (await fixture.ask('GET', '/api/v1/access', { headers })).status
    const bob = await add(other)
    const second = await add(token)
    for (let i = 2; i < 100; i++) await add(token)
    expect(await status(cookie)).toBe(200)
    const newest = await add(token)
    expect(await Promise.all([cookie, second, newest, bob].map(status))).toEqual([401, 200, 200, 200])
    expect(await fixture.hf.store.values.list('sign_in:')).toHaveLength(101)
  })

  test('stores nothing where no token is required', async () => {
    const { ask, hf } = await open()
    const answer = await ask('POST', SESSION)
    expect(answer).toMatchObject({ status: 201, body: { name: 'local', token: false } })
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(await hf.store.values.list('sign_in:')).toEqual([])
  })
})

describe('a request with the cookie of a sign-in', () => {
  test('changes something only with the CSRF token', async () => {
    const fixture = await open()
    const { cookie, csrf } = await signIn(fixture)
    const trip = (more: object) => fixture.ask('POST', TRIP, { headers: { ...cookie, ...more } })
    for (const headers of [
      {},
      { 'x-csrf-token': '' },
      { 'x-csrf-token': `${csrf}x` },
      { 'x-csrf-token': 'x' },
    ])
      expect(await trip(headers), JSON.stringify(headers)).toMatchObject({
        status: 403,
        body: { error: 'FORBIDDEN', message: expect.stringMatching(/x-csrf-token/) },
      })
    expect((await fixture.hf.audit.list({ action: 'breaker.trip' })).items).toEqual([])
    expect(await trip({ 'x-csrf-token': csrf })).toMatchObject({ status: 200 })
    const [record] = (await fixture.hf.audit.list({ action: 'breaker.trip' })).items
    expect(record?.actor).toBe('ann')
  })

  test('does not accept the CSRF token of another sign-in', async () => {
    const fixture = await open()
    const { cookie, token } = await signIn(fixture)
    const other = await fixture.ask('POST', SESSION, {
      headers: { ...HOST, authorization: `Bearer ${token}` },
    })
    const headers = { ...cookie, 'x-csrf-token': other.body.csrf_token }
    expect(await fixture.ask('POST', TRIP, { headers })).toMatchObject({ status: 403 })
  })

  test.each(['cross-site', 'same-site'])('is rejected from a page that is %s', async (site) => {
    const fixture = await open()
    const { cookie, csrf } = await signIn(fixture)
    const headers = { ...cookie, 'x-csrf-token': csrf, 'sec-fetch-site': site }
    expect(await fixture.ask('POST', TRIP, { headers })).toMatchObject({ status: 403 })
    expect(await fixture.ask('GET', '/api/v1/sessions', { headers })).toMatchObject({ status: 403 })
    headers['sec-fetch-site'] = 'same-origin'
    expect(await fixture.ask('POST', TRIP, { headers })).toMatchObject({ status: 200 })
  })

  test('is authenticated by its token where it has both', async () => {
    const fixture = await open()
    const { cookie } = await signIn(fixture)
    const { token } = await createToken(fixture.hf, { name: 'bob', role: 'viewer' })
    const ask = (authorization: string) =>
      fixture.ask('GET', '/api/v1/access', { headers: { ...cookie, authorization } })
    expect(await ask(`Bearer ${token}`)).toMatchObject({ status: 200, body: { name: 'bob' } })
    expect((await ask(`Bearer ${token}`)).body).not.toHaveProperty('csrf_token')
    expect(await ask('Bearer hft_wrong')).toMatchObject({ status: 401 })
  })

  test.each(['', 'x', 'a'.repeat(43), `${'a'.repeat(42)}"`, 'a'.repeat(10_000)])(
    'is rejected with the cookie %j',
    async (value) => {
      const { hf, ask } = await open()
      await createToken(hf, { name: 'ann', role: 'viewer' })
      const headers = { ...HOST, cookie: `holdfast_8000=${value}` }
      expect(await ask('GET', '/api/v1/access', { headers })).toMatchObject({ status: 401 })
    },
  )

  test('is rejected with the cookie of a server at another port', async () => {
    const fixture = await open()
    const { cookie } = await signIn(fixture)
    const headers = { ...cookie, host: 'localhost:9000' }
    expect(await fixture.ask('GET', '/api/v1/access', { headers })).toMatchObject({ status: 401 })
  })

  test('allows no other origin to read the response', async () => {
    const fixture = await open()
    const { cookie } = await signIn(fixture)
    const headers = { ...cookie, origin: 'http://localhost:3000' }
    const answer = await fixture.ask('GET', '/api/v1/access', { headers })
    for (const name of ['access-control-allow-origin', 'access-control-allow-credentials'])
      expect(answer.headers.get(name), name).toBeNull()
  })

  test('ends its event stream within a second after the sign-out', async () => {
    const fixture = await open()
    const { cookie, csrf } = await signIn(fixture)
    const { body } = await fixture.app.request('http://localhost/api/v1/events', { headers: cookie })
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    let isEnded = false
    const read = (async () => {
      while (!(await reader.read()).done);
      isEnded = true
    })()
    await fixture.clock.advance(5000)
    expect(isEnded).toBe(false)
    await fixture.ask('DELETE', SESSION, { headers: { ...cookie, 'x-csrf-token': csrf } })
    await fixture.clock.advance(1000)
    await read
  })
})
