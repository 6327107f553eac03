import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

const PATH = '/api/v1/pools/proxies/members'

describe('members of a pool', () => {
  test('come, and their credentials are in no answer and no record', async () => {
    const { ask, hf } = await open()
    const answer = await ask('POST', PATH, {
      body: { url: 'http://ann:hunter2@10.0.0.9:8080', weight: 3, region: 'us', reason: 'more' },
    })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        id: '10.0.0.9:8080',
        url: 'http://10.0.0.9:8080',
        weight: 3,
        region: 'us',
        status: 'available',
      },
    })
    const listed = (await ask('GET', PATH)).body.items
    expect(listed.map(({ id }: { id: string }) => id)).toEqual(['p1', 'p2', '10.0.0.9:8080'])
    const { items } = await hf.audit.list()
    expect(items).toMatchObject([{ action: 'member.add', target: 'proxies/10.0.0.9:8080', reason: 'more' }])
    expect(JSON.stringify([answer.body, listed, items])).not.toContain('hunter2')
  })

  test('are disabled, enabled and weighed; a breaker that is open stays so', async () => {
    const { ask, hf } = await open()
    expect(await ask('PATCH', `${PATH}/p1`, { body: { enabled: false } })).toMatchObject({
      status: 200,
      body: { status: 'disabled' },
    })
    expect((await ask('PATCH', `${PATH}/p1`, { body: { weight: 7 } })).body).toMatchObject({
      weight: 7,
      status: 'disabled',
      region: 'eu',
    })
    expect((await ask('PATCH', `${PATH}/p1`, { body: { enabled: true } })).body).toMatchObject({
      status: 'available',
    })
    await ask('POST', '/api/v1/circuit-breakers/pool%3Aproxies%3Ap1/trip')
    expect((await ask('PATCH', `${PATH}/p1`, { body: { weight: 1 } })).body).toMatchObject({
      weight: 1,
      status: 'open',
    })
    expect((await hf.audit.list({ action: 'member.change' })).items).toHaveLength(4)
  })

  test('that were added or deleted are in the configuration and its history, and a rollback reverts them', async () => {
    const { ask } = await open()
    const ids = async () => (await ask('GET', PATH)).body.items.map(({ id }: { id: string }) => id)
    await ask('POST', PATH, { body: { id: 'p3', url: 'http://ann:hunter2@10.0.0.9:8080' } })
    await ask('DELETE', `${PATH}/p1`, { headers: { 'x-reason': 'it is slow' } })
    expect(await ids()).toEqual(['p2', 'p3'])
    expect((await ask('GET', '/api/v1/config')).body.pools.proxies.members).toEqual([
      { id: 'p2', url: 'http://127.0.0.1:9002' },
      { id: 'p3', url: 'http://[redacted]@10.0.0.9:8080' },
    ])
    expect((await ask('GET', '/api/v1/config/history')).body.items).toMatchObject([
      { version: 2, by: 'local', reason: 'it is slow' },
      { version: 1, by: 'local' },
    ])
    expect(await ask('POST', '/api/v1/config/rollback', { body: { version: 1 } })).toMatchObject({
      status: 200,
    })
    expect((await ids()).toSorted()).toEqual(['p1', 'p2', 'p3'])
    expect(JSON.stringify((await ask('GET', '/api/v1/audit')).body)).not.toContain('hunter2')
  })

  test('go', async () => {
    const { ask, hf } = await open()
    expect(await ask('DELETE', `${PATH}/p2`)).toMatchObject({ status: 204 })
    expect((await ask('GET', '/api/v1/pools')).body.items).toMatchObject([
      { id: 'proxies', size: 1, by_status: { available: 1 } },
    ])
    expect((await hf.audit.list({ action: 'member.remove' })).items).toMatchObject([{ target: 'proxies/p2' }])
  })

  test.each([
    [{ url: 'http://ann:hunter2@10.0.0.9:99999' }],
    [{ url: 'ftp://ann:hunter2@10.0.0.9' }],
    [{ url: 'nonsense hunter2' }],
    [{}],
    [{ id: 'p1', url: 'http://10.0.0.9:1' }],
    [{ url: 'http://10.0.0.9:1', weight: -1 }],
    [{ url: 'http://10.0.0.9:1', colour: 'red' }],
  ])('are rejected for the body %j, and no answer repeats a password', async (body) => {
    const { ask, hf } = await open()
    const answer = await ask('POST', PATH, { body })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).not.toContain('hunter2')
    expect(hf.pools.get('proxies').size).toBe(2)
  })

  test('that are not there are not found, nor is the pool', async () => {
    const { ask } = await open()
    for (const [method, path] of [
      ['PATCH', `${PATH}/unknown`],
      ['DELETE', `${PATH}/unknown`],
      ['GET', '/api/v1/pools/none/members'],
      ['POST', '/api/v1/pools/none/members'],
    ] as const) {
      const body =
        method === 'PATCH' ? { weight: 1 } : method === 'POST' ? { url: 'http://10.0.0.9:1' } : undefined
      expect(await ask(method, path, { body })).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } })
    }
    expect(await ask('PATCH', `${PATH}/p1`, { body: { enabled: true, draining: true } })).toMatchObject({
      status: 400,
    })
  })
})
