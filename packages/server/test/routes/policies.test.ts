import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

describe('policies', () => {
  test('are listed in pages', async () => {
    const { ask } = await open()
    const ids: string[] = []
    let cursor = ''
    do {
      const { body } = await ask('GET', `/api/v1/policies?limit=2${cursor}`)
      expect(body.items.length).toBeLessThanOrEqual(2)
      ids.push(...body.items.map(({ id }: { id: string }) => id))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(ids).toEqual((await ask('GET', '/api/v1/policies')).body.items.map(({ id }: { id: string }) => id))
    expect(ids).toEqual(expect.arrayContaining(['default', 'quick', 'mapped', 'aggressive_retry']))
  })

  test('are changed at once, in seconds, with other values from the file', async () => {
    const { ask, hf } = await open()
    const { status, body } = await ask('PUT', '/api/v1/policies/mapped', {
      body: {
        base_delay: 0.25,
        max_attempts: 'Infinity',
        budget: { ratio: 0.1, reserve_per_second: 2, window: 5 },
      },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: 'mapped', name: 'Mapped', base_delay: 0.25, max_attempts: 'Infinity' })
    expect(await hf.policies.get('mapped')).toMatchObject({
      baseDelay: 250,
      maxAttempts: Number.POSITIVE_INFINITY,
      budget: { ratio: 0.1, reservePerSecond: 2, window: 5000 },
    })
  })

  test('are created with any name and deleted', async () => {
    const { ask } = await open()
    const path = `/api/v1/policies/${encodeURIComponent('a/b %2F ü')}`
    expect(await ask('PUT', path, { body: { max_attempts: 2 } })).toMatchObject({
      status: 200,
      body: { id: 'a/b %2F ü' },
    })
    expect(await ask('GET', path)).toMatchObject({ status: 200, body: { max_attempts: 2 } })
    expect(await ask('DELETE', path)).toMatchObject({ status: 204, body: '' })
    expect(await ask('GET', path)).toMatchObject({ status: 404, body: { error: 'POLICY_NOT_FOUND' } })
    expect(await ask('DELETE', path)).toMatchObject({ status: 404, body: { error: 'POLICY_NOT_FOUND' } })
  })

  test('that an operation is mapped to cannot be deleted', async () => {
    const { ask } = await open()
    const { status, body } = await ask('DELETE', '/api/v1/policies/mapped')
    expect(status).toBe(409)
    expect(body).toMatchObject({ error: 'POLICY_IN_USE', message: expect.stringContaining('browser') })
  })

  test.each([
    [{ max_attempts: 0 }, /max_attempts/],
    [{ base_delay: -1 }, /base_delay/],
    [{ base_delay: 50, max_delay: 10 }, /max_delay/],
    [{ jitter_amount: 2 }, /jitter_amount/],
    [{ backoff_type: 'quadratic' }, /backoff_type/],
    [{ retry_status_codes: [404] }, /retry_status_codes/],
    [{ maxAttempts: 3 }, /maxAttempts/],
    [{ id: 'other' }, /other/],
    [{ bulkhead: { limit: 0, queue: 0 } }, /bulkhead\.limit/],
    [[], /object/],
    ['"x"', /object/],
    ['{', /JSON/],
  ])('are rejected for the body %j', async (body, said) => {
    const { ask, hf } = await open()
    const before = await hf.policies.get('quick')
    const answer = await ask('PUT', '/api/v1/policies/quick', {
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(400)
    expect(answer.body.message).toMatch(said)
    expect(await hf.policies.get('quick')).toEqual(before)
  })

  test('are rejected for a body whose content type is not JSON, as a form of another site sends it', async () => {
    const { ask } = await open()
    const headers = { 'content-type': 'text/plain' }
    const answer = await ask('PUT', '/api/v1/policies/quick', { body: '{"max_attempts":2}', headers })
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('application/json') },
    })
  })
})

describe('limits of a policy', () => {
  test('are filled in with defaults as in the file', async () => {
    const { ask } = await open()
    const { status, body } = await ask('PUT', '/api/v1/policies/careful', {
      body: { bulkhead: { limit: 3 }, hedge: { delay: 1.5 }, budget: { ratio: 0.5 } },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      bulkhead: { limit: 3, queue: 0 },
      hedge: { delay: 1.5, max: 1 },
      budget: { ratio: 0.5, reserve_per_second: 10, window: 10 },
    })
  })
})

describe('the layer of changes', () => {
  test('has a history, can be rolled back and cleared', async () => {
    const { ask } = await open()
    const attempts = async () => (await ask('GET', '/api/v1/policies/quick')).body.max_attempts
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 4 }, headers: { 'x-reason': 'one' } })
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 5 }, headers: { 'x-reason': 'two' } })
    const { items } = (await ask('GET', '/api/v1/config/history')).body
    expect(items).toMatchObject([
      { version: 2, by: 'local', reason: 'two' },
      { version: 1, by: 'local', reason: 'one' },
    ])
    const back = await ask('POST', '/api/v1/config/rollback', { body: { version: 1, reason: 'worse' } })
    expect(back).toMatchObject({ status: 200, body: { policies: { quick: { max_attempts: 4 } } } })
    expect(await attempts()).toBe(4)
    expect(await ask('POST', '/api/v1/config/clear')).toMatchObject({ status: 200 })
    expect(await attempts()).toBe(3)
    expect(await ask('POST', '/api/v1/config/rollback', { body: { version: 99 } })).toMatchObject({
      status: 400,
    })
  })

  test('shows the differences of two versions, and those that a rollback would make', async () => {
    const { ask } = await open()
    const diff = async (query: string) => (await ask('GET', `/api/v1/config/diff?${query}`)).body.items
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 4 } })
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 5, base_delay: 2 } })
    await ask('DELETE', '/api/v1/policies/linear_backoff')
    expect(await diff('from=1&to=2')).toEqual([
      { path: 'policies.quick.base_delay', after: 2 },
      { path: 'policies.quick.max_attempts', before: 4, after: 5 },
    ])
    expect(await diff('to=1')).toEqual([
      { path: 'policies.linear_backoff', before: null },
      { path: 'policies.quick.base_delay', before: 2 },
      { path: 'policies.quick.max_attempts', before: 5, after: 4 },
    ])
    expect(await diff('to=0')).toHaveLength(3)
    for (const query of ['', 'to=99', 'to=x', 'to=1&from=99'])
      expect([query, (await ask('GET', `/api/v1/config/diff?${query}`)).status]).toEqual([query, 400])
  })

  test('redacts the credentials of members in differences', async () => {
    const { ask } = await open()
    const members = '/api/v1/pools/proxies/members'
    const added = await ask('POST', members, { body: { id: 'p9', url: 'http://u:hunter2@127.0.0.1:9' } })
    expect(added.status).toBe(201)
    const { body } = await ask('GET', '/api/v1/config/diff?to=0')
    expect(body.items).toContainEqual({
      path: 'pools.proxies.members.p9.url',
      before: 'http://[redacted]@127.0.0.1:9',
    })
  })

  test('can be left out of a policy', async () => {
    const { ask } = await open()
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 9 } })
    await ask('PUT', '/api/v1/policies/fresh', { body: { max_attempts: 9 } })
    const file = '?live_changes=false'
    expect((await ask('GET', `/api/v1/policies/quick${file}`)).body.max_attempts).toBe(3)
    expect((await ask('GET', '/api/v1/policies/quick')).body.max_attempts).toBe(9)
    expect((await ask('GET', `/api/v1/policies/fresh${file}`)).status).toBe(404)
  })

  test('is part of the configuration, whose secrets are redacted', async () => {
    const { ask } = await open()
    await ask('PUT', '/api/v1/policies/fresh', { body: { max_attempts: 4, base_delay: 2 } })
    const { body } = await ask('GET', '/api/v1/config')
    expect(body).toMatchObject({
      version: '1.1.0',
      policies: { fresh: { max_attempts: 4, base_delay: 2 }, mapped: { base_delay: 0.01 } },
      circuit_breakers: { notion: { timeout_duration: 30 } },
      alerts: { secret: '[redacted]' },
    })
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })
})

describe('the text of a config file', () => {
  test.each(['application/yaml', 'application/json', 'text/plain', 'nonsense'])(
    'of type %s is checked, with positions of problems',
    async (type) => {
      const { ask } = await open()
      const body = 'version: "1.1.0"\npolicies:\n  fetch:\n    max_attempts: 0\n'
      const answer = await ask('POST', '/api/v1/config/validate', { body, headers: { 'content-type': type } })
      expect(answer).toMatchObject({
        status: 200,
        body: { valid: false, errors: [{ path: 'policies.fetch.max_attempts', line: 4, column: 19 }] },
      })
    },
  )

  test('that is valid has no errors', async () => {
    const { ask } = await open()
    const answer = await ask('POST', '/api/v1/config/validate', { body: '{"version":"1.1.0"}' })
    expect(answer).toMatchObject({ status: 200, body: { valid: true, errors: [] } })
  })

  test('that is empty or not YAML is not valid', async () => {
    const { ask } = await open()
    for (const body of ['', 'a: [', '\0', '- 1'])
      expect(await ask('POST', '/api/v1/config/validate', { body })).toMatchObject({
        status: 200,
        body: { valid: false },
      })
  })
})

test('the explanation of an operation has durations in seconds', async () => {
  const { ask } = await open()
  const { body } = await ask('GET', '/api/v1/config/explain?operation=browser.save')
  expect(body).toMatchObject({ operation: 'browser.save', subsystem: 'browser', enabled: true, notes: [] })
  expect(body.policies.at(-1)).toMatchObject({
    policy_id: 'mapped',
    values: { base_delay: { value: 0.01, origin: 'policy' }, max_delay: { value: 30, origin: 'built-in' } },
    schedule: {
      waits: [{ attempt: 2, base: 0.01, min: 0.01, max: 0.01 }],
      total: { base: 0.01 },
      more: false,
    },
  })
  expect(await ask('GET', '/api/v1/config/explain')).toMatchObject({ status: 400 })
})

test('the audit trail has a policy before and after a change in the form of the wire', async () => {
  const { ask } = await open()
  await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 4, base_delay: 0.5 } })
  await ask('DELETE', '/api/v1/policies/quick')
  const { items } = (await ask('GET', '/api/v1/audit')).body
  expect(items).toMatchObject([
    { action: 'policy.delete', before: { id: 'quick', max_attempts: 4, base_delay: 0.5 } },
    {
      action: 'policy.put',
      before: { id: 'quick', max_attempts: 3, base_delay: 1, backoff_type: 'immediate' },
      after: { id: 'quick', max_attempts: 4, base_delay: 0.5 },
    },
  ])
  expect(JSON.stringify(items)).not.toMatch(/maxAttempts|baseDelay/)
})
