import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

const JSON_TYPE = { 'content-type': 'application/json' }

/** Every kind of operation that takes a JSON body. */
const ENDPOINTS = [
  ['PUT', '/api/v1/retry/policy'],
  ['PUT', '/api/v1/policies/quick'],
  ['POST', '/api/v1/request'],
  ['POST', '/api/v1/dead-letters/replay'],
  ['POST', '/api/v1/pools/proxies/members'],
  ['PATCH', '/api/v1/pools/proxies/members/p1'],
  ['POST', '/api/v1/config/rollback'],
  ['POST', '/api/v1/config/reload'],
] as const

describe('a JSON body', () => {
  test.each(ENDPOINTS)(
    'of %s %s with a number beyond every float is 400 with its path',
    async (method, path) => {
      const { ask } = await open()
      const body = '{"body": [1, {"deep": 1e999}], "url": "http://example.com/"}'
      const answer = await ask(method, path, { body, headers: JSON_TYPE })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        error: 'BAD_REQUEST',
        details: [{ in: 'body', path: 'body.1.deep', message: expect.stringContaining('finite number') }],
      })
    },
  )

  test.each(ENDPOINTS)('of %s %s that is not valid UTF-8 is 400', async (method, path) => {
    const { app } = await open()
    const body = new Uint8Array([...Buffer.from('{"reason":"'), 0xc3, 0x28, ...Buffer.from('"}')])
    const answer = await app.request(`http://localhost${path}`, { method, body, headers: JSON_TYPE })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      error: 'BAD_REQUEST',
      details: [{ in: 'body', path: '', message: expect.stringContaining('UTF-8') }],
    })
  })

  test('that is nested too deep is 400 and never a failure of the server', async () => {
    const { ask } = await open()
    for (const depth of [101, 10_000, 200_000]) {
      const body = `{"url":"http://example.com/","method":"POST","body":${'['.repeat(depth)}${']'.repeat(depth)}}`
      const answer = await ask('POST', '/api/v1/request', { body, headers: JSON_TYPE })
      expect(answer.status).toBe(400)
      expect(answer.body.details[0]).toMatchObject({ in: 'body', message: expect.stringContaining('nested') })
    }
  })

  test('may begin with a byte order mark and hold the largest and smallest numbers', async () => {
    const { ask } = await open()
    const body = `\uFEFF{"weight": 1e3, "reason": "ünïcödé 🎉"}`
    const answer = await ask('PATCH', '/api/v1/pools/proxies/members/p1', { body, headers: JSON_TYPE })
    expect(answer.status).toBe(200)
    expect(answer.body.weight).toBe(1000)
  })
})

test('the text of a configuration that is not valid UTF-8 is reported as invalid, with status 200', async () => {
  const { app } = await open()
  const body = new Uint8Array([...Buffer.from('version: "1.1.0"\nx: '), 0xff, 0xfe])
  const answer = await app.request('http://localhost/api/v1/config/validate', { method: 'POST', body })
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({
    valid: false,
    errors: [{ path: '', message: expect.stringContaining('UTF-8') }],
  })
})
