import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

describe('changing a policy', () => {
  test('is rejected with an outdated ETag, and nothing changes', async () => {
    const { ask } = await open()
    const path = '/api/v1/policies/quick'
    const seen = (await ask('GET', path)).headers.get('etag') ?? ''
    expect(seen).toMatch(/^"[\w-]{22}"$/)
    const first = await ask('PUT', path, { body: { max_attempts: 4 }, headers: { 'if-match': seen } })
    expect(first.status).toBe(200)
    expect(first.headers.get('etag')).not.toBe(seen)
    const second = await ask('PUT', path, { body: { max_attempts: 9 }, headers: { 'if-match': seen } })
    expect(second).toMatchObject({ status: 412, body: { error: 'PRECONDITION_FAILED' } })
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
    expect((await ask('GET', path)).body.max_attempts).toBe(4)
  })

  test('succeeds for one of two concurrent changes with the same ETag', async () => {
    const { ask } = await open()
    const path = '/api/v1/policies/quick'
    const headers = { 'if-match': (await ask('GET', path)).headers.get('etag') ?? '' }
    const answers = await Promise.all(
      [5, 6].map((max_attempts) => ask('PUT', path, { body: { max_attempts }, headers })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 412]))
  })

  test.each([
    ['quick', { 'if-match': '*' }, 200],
    ['fresh', { 'if-match': '*' }, 412],
    ['quick', { 'if-none-match': '*' }, 412],
    ['fresh', { 'if-none-match': '*' }, 200],
    ['quick', { 'if-match': '"other", "another"' }, 412],
  ])('%s with %j is answered %i', async (id, headers, status) => {
    const { ask } = await open()
    const answer = await ask('PUT', `/api/v1/policies/${id}`, {
      body: { max_attempts: 2 },
      headers: headers as Record<string, string>,
    })
    expect(answer.status).toBe(status)
  })

  test.each(['/api/v1/policies/quick', '/api/v1/retry/policy'])(
    'or a reading of %s that names what is there is answered without it',
    async (path) => {
      const { ask } = await open()
      const { headers, body } = await ask('GET', path)
      const etag = headers.get('etag') ?? ''
      for (const known of [etag, `"other", W/${etag}`, '*']) {
        const answer = await ask('GET', path, { headers: { 'if-none-match': known } })
        expect([answer.status, answer.body, answer.headers.get('etag')]).toEqual([304, '', etag])
      }
      const other = await ask('GET', path, { headers: { 'if-none-match': '"other"' } })
      expect([other.status, other.body]).toEqual([200, body])
    },
  )

  test('accepts one of several tags and rejects weak ones', async () => {
    const { ask } = await open()
    const path = '/api/v1/policies/quick'
    const tag = (await ask('GET', path)).headers.get('etag')
    const put = async (match: string) =>
      (await ask('PUT', path, { body: { max_attempts: 2 }, headers: { 'if-match': match } })).status
    expect(await put(`W/${tag}`)).toBe(412)
    expect(await put(`"x", W/${tag}`)).toBe(412)
    expect(await put(`W/"x", ${tag}`)).toBe(200)
  })

  test('supports preconditions for the default policy and for deletes', async () => {
    const { ask } = await open()
    const stale = { 'if-match': '"stale"' }
    expect(await ask('PUT', '/api/v1/retry/policy', { body: {}, headers: stale })).toMatchObject({
      status: 412,
    })
    expect(await ask('DELETE', '/api/v1/policies/quick', { headers: stale })).toMatchObject({ status: 412 })
  })
})
