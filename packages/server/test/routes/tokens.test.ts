import { expect, test } from 'vitest'
import { createToken } from '../../src/auth/tokens.js'
import { open } from '../fixture.js'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('an admin creates a token, whose secret is in no other response', async () => {
  const { ask, hf } = await open()
  const { token: admin } = await createToken(hf, { name: 'ann', role: 'admin' })
  const created = await ask('POST', '/api/v1/tokens', {
    headers: bearer(admin),
    body: { name: 'grafana', role: 'viewer', reason: 'a wall display' },
  })
  expect(created).toMatchObject({
    status: 201,
    body: {
      token: expect.stringMatching(/^hft_/),
      name: 'grafana',
      role: 'viewer',
      created_at: '2026-01-29T12:00:00.000Z',
    },
  })
  const { token } = created.body
  expect(await ask('GET', '/api/v1/access', { headers: bearer(token) })).toMatchObject({
    body: { name: 'grafana', role: 'viewer' },
  })
  const listed = await ask('GET', '/api/v1/tokens', { headers: bearer(admin) })
  expect(listed.body.items.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
    ['ann', 'admin'],
    ['grafana', 'viewer'],
  ])
  const audit = await ask('GET', '/api/v1/audit?target=grafana', { headers: bearer(admin) })
  expect(audit.body.items).toMatchObject([{ action: 'token.create', actor: 'ann', reason: 'a wall display' }])
  expect(JSON.stringify([listed.body, audit.body])).not.toMatch(/hft_|sha256/)
})

test.each(['/api/v1/tokens/grafana', '/api/v1/tokens?name=grafana'])(
  'an admin revokes a token with DELETE %s',
  async (path) => {
    const { ask, hf } = await open()
    const { token: admin } = await createToken(hf, { name: 'ann', role: 'admin' })
    const { token } = await createToken(hf, { name: 'grafana', role: 'viewer' })
    const headers = { ...bearer(admin), 'x-reason': 'it leaked' }
    expect(await ask('DELETE', path, { headers })).toMatchObject({ status: 204 })
    expect(await ask('GET', '/api/v1/access', { headers: bearer(token) })).toMatchObject({ status: 401 })
    expect(await ask('DELETE', path, { headers })).toMatchObject({
      status: 404,
      body: { error: 'NOT_FOUND' },
    })
    expect((await hf.audit.list({ action: 'token.revoke' })).items).toMatchObject([
      { actor: 'ann', target: 'grafana', reason: 'it leaked' },
    ])
  },
)

test('a name that is not valid or already used is rejected', async () => {
  const { ask, hf } = await open()
  const { token: admin } = await createToken(hf, { name: 'ann', role: 'admin' })
  for (const body of [{ name: 'ann' }, { name: 'a b' }, { name: '' }, {}, { name: 'x', role: 'root' }])
    expect(await ask('POST', '/api/v1/tokens', { headers: bearer(admin), body })).toMatchObject({
      status: 400,
    })
})

test.each(['viewer', 'operator'] as const)(
  'a caller with the role %s cannot see or change tokens',
  async (role) => {
    const { ask, hf } = await open()
    const { token } = await createToken(hf, { name: 'bob', role })
    for (const [method, path] of [
      ['GET', '/api/v1/tokens'],
      ['POST', '/api/v1/tokens'],
      ['DELETE', '/api/v1/tokens/bob'],
      ['DELETE', '/api/v1/tokens?name=bob'],
    ] as const)
      expect(await ask(method, path, { headers: bearer(token) }), `${method} ${path}`).toMatchObject({
        status: 403,
      })
  },
)

test('the first token is admin by default, and no other role locks out its creator', async () => {
  const { ask, hf } = await open()
  for (const role of ['viewer', 'operator'])
    expect(await ask('POST', '/api/v1/tokens', { body: { name: 'grafana', role } })).toMatchObject({
      status: 400,
      body: {
        details: [
          expect.objectContaining({
            path: 'role',
            message: expect.stringContaining('admin for the first token'),
          }),
        ],
      },
    })
  const first = await ask('POST', '/api/v1/tokens', { body: { name: 'ann' } })
  expect(first).toMatchObject({ status: 201, body: { role: 'admin' } })
  const headers = bearer(first.body.token)
  expect(await ask('POST', '/api/v1/tokens', { headers, body: { name: 'grafana' } })).toMatchObject({
    status: 201,
    body: { role: 'viewer' },
  })
  expect(await hf.store.values.list('token:')).toHaveLength(2)
})

test('revoking the last token with the role admin is answered with a warning while others exist', async () => {
  const { ask, hf } = await open()
  const { token } = await createToken(hf, { name: 'ann', role: 'admin' })
  await createToken(hf, { name: 'bob', role: 'admin' })
  await createToken(hf, { name: 'grafana', role: 'viewer' })
  const revoke = async (name: string) =>
    (await ask('DELETE', `/api/v1/tokens/${name}`, { headers: bearer(token) })).headers.get('x-warning')
  expect(await revoke('bob')).toBeNull()
  expect(await revoke('ann')).toContain('ann was the last token with the role admin')
})
