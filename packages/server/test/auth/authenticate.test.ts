import { describe, expect, test } from 'vitest'
import { createToken, revokeToken } from '../../src/auth/tokens.js'
import { type Fixture, open } from '../fixture.js'
import { type Document, operationsOf } from '../openapi/document.js'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a request without a token', () => {
  test.each([
    ['localhost', 200],
    ['localhost:8000', 200],
    ['127.0.0.1:8000', 200],
    ['[::1]:8000', 200],
    ['dash.localhost', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['10.0.0.1', 403],
    ['', 403],
    ['localhost@evil.example', 403],
  ])('a request for the host %j is answered %i', async (host, status) => {
    const { ask } = await open()
    expect(await ask('GET', '/api/v1/policies', { headers: { host } })).toMatchObject({ status })
  })

  test('accepts an allowed host name', async () => {
    const { ask } = await open({ allowedHosts: ['holdfast.internal'] })
    const answer = await ask('GET', '/api/v1/policies', { headers: { host: 'holdfast.internal:8000' } })
    expect(answer.status).toBe(200)
  })

  test.each([
    [{ origin: 'http://localhost:8000' }, 200],
    [{ origin: 'http://localhost:8000', 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: 'https://localhost:8000' }, 403],
    [{ origin: 'https://localhost:8000', 'x-forwarded-proto': 'https' }, 200],
    [{ origin: 'http://localhost:8000', 'x-forwarded-proto': 'https' }, 403],
    [{ origin: 'https://localhost', host: 'localhost:443', 'x-forwarded-proto': 'https' }, 200],
    [{ origin: 'http://localhost', host: 'localhost:80' }, 200],
    [{ origin: 'http://localhost', host: 'LOCALHOST' }, 200],
    [{ origin: 'null', 'x-forwarded-proto': 'nonsense' }, 403],
    [{ origin: 'http://localhost:3000' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
  ])('a page that says %j is answered %i', async (headers, status) => {
    const { ask } = await open()
    const answer = await ask('POST', '/api/v1/circuit-breakers/policy%3Aguarded/trip', {
      headers: { host: 'localhost:8000', ...(headers as Record<string, string>) },
    })
    expect(answer.status).toBe(status)
    if (status === 403)
      expect(answer.body).toMatchObject({ error: 'FORBIDDEN', message: expect.stringMatching(/token/) })
  })

  test('rejects a request from another machine with any host name', async () => {
    const { app } = await open()
    const from = (remoteAddress: string) =>
      app.request('http://localhost/api/v1/policies', {}, { incoming: { socket: { remoteAddress } } })
    expect((await from('192.168.1.7')).status).toBe(403)
    expect((await from('::ffff:127.0.0.1')).status).toBe(200)
    expect((await from('::1')).status).toBe(200)
  })

  test('rejects every request on an address that other machines can reach', async () => {
    const { ask } = await open({ host: '0.0.0.0' })
    expect(await ask('GET', '/api/v1/policies')).toMatchObject({
      status: 401,
      body: { error: 'UNAUTHORIZED' },
    })
  })

  test('allows health, the API document and its page on any address', async () => {
    const { ask } = await open({ host: '0.0.0.0' })
    for (const path of ['/health/live', '/health/ready', '/openapi.json', '/docs', '/docs.css'])
      expect(await ask('GET', path, { headers: { host: 'any.example' } }), path).toMatchObject({
        status: 200,
      })
  })

  test('reveals to a page with another host name only the status and counts of the runtime', async () => {
    const { ask } = await open()
    const rebound = { headers: { host: 'evil.example' } }
    expect((await ask('GET', '/api/v1/policies', rebound)).status).toBe(403)
    expect((await ask('GET', '/health/live', rebound)).body).toEqual({ status: 'ok' })
    expect((await ask('GET', '/health', rebound)).body).toEqual({ status: 'ok' })
    const ready = await ask('GET', '/health/ready', rebound)
    // Probes of process managers use the address of the server as the Host. So there are no names, addresses, versions and errors.
    expect(ready.body).toEqual({
      status: 'ok',
      initialized: true,
      policies_count: expect.any(Number),
      active_sessions: 0,
      circuit_breakers: { total: expect.any(Number), open: 0, half_open: 0 },
    })
    expect(ready.headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('with a token in the store', () => {
  test('a token is required on loopback until the last one is revoked', async () => {
    const { hf, ask } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const without = await ask('GET', '/api/v1/policies')
    expect(without).toMatchObject({
      status: 401,
      body: { error: 'UNAUTHORIZED', message: expect.stringMatching(/Bearer/) },
    })
    expect(without.headers.get('www-authenticate')).toContain('Bearer')
    expect(await ask('GET', '/api/v1/policies', { headers: bearer(token) })).toMatchObject({ status: 200 })
    await revokeToken(hf, 'ann')
    expect(await ask('GET', '/api/v1/policies')).toMatchObject({ status: 200 })
  })

  test('a revoked token is rejected', async () => {
    const { hf, ask } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    await createToken(hf, { name: 'bob', role: 'viewer' })
    await revokeToken(hf, 'ann')
    expect(await ask('GET', '/api/v1/policies', { headers: bearer(token) })).toMatchObject({ status: 401 })
  })

  test.each(['Basic YTpi', 'Bearer', 'Bearer ', 'hft_x', 'Bearer a b', 'bearer x'])(
    '%j is rejected as a token',
    async (authorization) => {
      const { hf, ask } = await open()
      await createToken(hf, { name: 'ann', role: 'viewer' })
      expect(await ask('GET', '/api/v1/policies', { headers: { authorization } })).toMatchObject({
        status: 401,
      })
    },
  )

  test.each(['token', 'access_token', 'authorization'])(
    'a valid token in the query parameter %s is ignored',
    async (parameter) => {
      const { hf, ask } = await open()
      const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
      expect(await ask('GET', `/api/v1/policies?${parameter}=${token}`)).toMatchObject({ status: 401 })
    },
  )

  test('a valid token is accepted from any host and page', async () => {
    const { hf, ask } = await open({ host: '0.0.0.0' })
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const headers = { ...bearer(token), host: 'holdfast.example', origin: 'https://elsewhere.example' }
    expect(await ask('GET', '/api/v1/policies', { headers })).toMatchObject({ status: 200 })
  })

  test('wrong tokens are throttled by address, and known clients of that address are not', async () => {
    const { hf, app, clock } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const guess = await createToken(hf, { name: 'bob', role: 'admin' })
    const ask = (shown: string, remoteAddress = '10.0.0.1') =>
      app.request(
        'http://localhost/api/v1/policies',
        { headers: bearer(shown) },
        { incoming: { socket: { remoteAddress } } },
      )
    expect((await ask(token)).status).toBe(200)
    for (let i = 0; i < 10; i++) expect((await ask('wrong')).status).toBe(401)
    const limited = await ask('wrong')
    expect(limited.status).toBe(429)
    expect(await limited.json()).toMatchObject({ error: 'RATE_LIMITED' })
    expect(limited.headers.get('retry-after')).toBe('60')
    expect((await ask(token)).status).toBe(200)
    const right = await ask(guess.token)
    expect([right.status, right.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await ask(guess.token, '10.0.0.2')).status).toBe(200)
    expect((await ask('wrong', '10.0.0.2')).status).toBe(401)
    await clock.advance(60_000)
    expect((await ask('wrong')).status).toBe(401)
    expect((await ask(guess.token)).status).toBe(200)
  })

  test('a valid token from loopback is never throttled, because clients behind a proxy share the address', async () => {
    const { hf, app } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    for (const env of [{}, { incoming: { socket: { remoteAddress: '::1' } } }]) {
      const ask = (shown: string) =>
        app.request('http://localhost/api/v1/policies', { headers: bearer(shown) }, env)
      for (let i = 0; i < 10; i++) await ask('wrong')
      expect((await ask('wrong')).status).toBe(429)
      expect((await ask(token)).status).toBe(200)
    }
  })
})

describe('roles', () => {
  const ROLES = ['viewer', 'operator', 'admin'] as const

  test('each operation is rejected for every lower role before its input is validated', async () => {
    const { hf, ask } = await open()
    const tokens = new Map<string, string>()
    for (const role of ROLES) tokens.set(role, (await createToken(hf, { name: role, role })).token)
    const document = (await ask('GET', '/openapi.json')).body as Document
    for (const { method, path, operation } of operationsOf(document)) {
      if (!path.startsWith('/api/')) continue
      const needed = ROLES.indexOf(operation['x-role'] as 'viewer')
      for (const role of ROLES.slice(0, needed)) {
        const answer = await ask(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), {
          headers: bearer(tokens.get(role) ?? ''),
        })
        expect(answer, `${role} ${method} ${path}`).toMatchObject({
          status: 403,
          body: { error: 'FORBIDDEN' },
        })
      }
    }
  })

  test('viewers can read, operators can act, admins can change the configuration', async () => {
    const { ask } = await open()
    const document = (await ask('GET', '/openapi.json')).body as Document
    const changes = operationsOf(document).filter(
      ({ path, method }) => path.startsWith('/api/') && method !== 'get',
    )
    const names = (role: string) =>
      changes
        .filter(({ operation }) => operation['x-role'] === role)
        .map(({ operation }) => operation.operationId)
        .toSorted()
    expect(names('viewer')).toEqual(['signIn', 'signOut', 'validateConfig'])
    expect(names('admin')).toEqual([
      'clearConfig',
      'createToken',
      'deletePolicy',
      'putDefaultPolicy',
      'putPolicy',
      'reloadConfig',
      'revokeToken',
      'revokeTokenByName',
      'rollbackConfig',
    ])
  })

  const change = async ({ ask }: Fixture, headers: Record<string, string>, body: object) =>
    ask('PUT', '/api/v1/policies/quick', { body, headers })

  test('the audit trail has the name of the token and prefers the reason of the header', async () => {
    const fixture = await open()
    const { hf, ask } = fixture
    const { token } = await createToken(hf, { name: 'ann', role: 'admin' })
    await change(fixture, bearer(token), { max_attempts: 4, reason: 'flaky' })
    await change(fixture, { ...bearer(token), 'x-reason': 'calmer' }, { max_attempts: 3, reason: 'other' })
    const { body } = await ask('GET', '/api/v1/audit?action=policy.put', { headers: bearer(token) })
    expect(body.items).toMatchObject([
      { actor: 'ann', action: 'policy.put', reason: 'calmer' },
      { actor: 'ann', action: 'policy.put', reason: 'flaky' },
    ])
  })
})

test.each([
  ['plain words', 'plain words'],
  [Buffer.from('schön → so').toString('latin1'), 'schön → so'],
  ['sch\u00f6n', 'schön'],
])('the reason %j of a header is read as %j', async (header, reason) => {
  const { ask, hf } = await open()
  await ask('POST', '/api/v1/circuit-breakers/policy%3Aguarded/trip', { headers: { 'x-reason': header } })
  expect((await hf.audit.list()).items).toMatchObject([{ action: 'breaker.trip', reason }])
})

describe('reads of sessions and metrics', () => {
  test('are audited once a minute for each reader, with their count', async () => {
    const { hf, ask, clock } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const headers = bearer(token)
    for (let i = 0; i < 3; i++) await ask('GET', '/api/v1/sessions', { headers })
    await ask('GET', '/api/v1/sessions/unknown', { headers })
    await ask('GET', '/api/v1/metrics/retries', { headers })
    await ask('GET', '/api/v1/policies', { headers })
    const read = async () => (await hf.audit.list({ actor: 'ann', order: 'oldest' })).items
    expect(await read()).toEqual([])
    await clock.advance(60_000)
    const items = await read()
    expect(items).toMatchObject([
      { actor: 'ann', action: 'session.read', target: 'sessions', after: { count: 4 } },
      { actor: 'ann', action: 'metrics.read', target: 'metrics', after: { count: 1 } },
    ])
    await clock.advance(600_000)
    expect(await read()).toHaveLength(2)
  })

  test('of the last minute are audited when the server closes', async () => {
    const { hf, app, ask } = await open()
    await ask('GET', '/api/v1/metrics/retries')
    await app.close()
    expect((await hf.audit.list()).items).toMatchObject([{ actor: 'local', action: 'metrics.read' }])
  })
})
