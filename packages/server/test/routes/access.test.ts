import { expect, test } from 'vitest'
import { createToken } from '../../src/auth/tokens.js'
import { failCall, open } from '../fixture.js'

test('a caller at this machine is told that it may do everything', async () => {
  const { ask } = await open()
  expect(await ask('GET', '/api/v1/access')).toMatchObject({
    status: 200,
    body: { name: 'local', role: 'admin', token: false },
  })
})

test('a caller with a token is told its name and its role', async () => {
  const { ask, hf } = await open()
  const { token } = await createToken(hf, { name: 'grafana', role: 'viewer' })
  const answer = await ask('GET', '/api/v1/access', { headers: { authorization: `Bearer ${token}` } })
  expect(answer).toMatchObject({ status: 200, body: { name: 'grafana', role: 'viewer', token: true } })
  expect(await ask('GET', '/api/v1/access')).toMatchObject({ status: 401 })
})

test('a process that shares nothing is the only node, with what it thinks of its breakers', async () => {
  const { ask, hf } = await open()
  await failCall(hf, 'guarded')
  await failCall(hf, 'guarded')
  const { status, body } = await ask('GET', '/api/v1/nodes')
  expect(status).toBe(200)
  expect(body).toEqual({
    items: [
      {
        id: expect.stringMatching(/./),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        started_at: '2026-01-29T12:00:00.000Z',
        last_seen: '2026-01-29T12:00:00.000Z',
        self: true,
        opinions: { 'policy:guarded': 'open' },
      },
    ],
  })
})
