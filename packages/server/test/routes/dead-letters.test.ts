import { describe, expect, test } from 'vitest'
import { type Fixture, failCall, open } from '../fixture.js'

const PATH = '/api/v1/dead-letters'

async function filled(count: number): Promise<Fixture & { ids: string[] }> {
  const fixture = await open()
  for (let i = 0; i < count; i++) await failCall(fixture.hf, 'quick', { payload: { i }, itemId: `item/${i}` })
  const { items } = await fixture.hf.deadLetters.list()
  return { ...fixture, ids: items.map(({ dlqId }) => dlqId) }
}

/** The job when it is over. */
async function ended({ ask, clock }: Fixture, path: string) {
  for (;;) {
    const { body } = await ask('GET', path)
    if (body.status !== 'running') return body
    await clock.advance(1)
  }
}

describe('dead letters', () => {
  test('are listed with their payloads, by status, operation and item', async () => {
    const { ask } = await filled(3)
    const all = (await ask('GET', PATH)).body.items
    expect(all).toMatchObject([
      { original_payload: { i: 0 } },
      { original_payload: { i: 1 } },
      { original_payload: { i: 2 } },
    ])
    expect((await ask('GET', `${PATH}?status=completed&status=failed`)).body.items).toEqual([])
    expect((await ask('GET', `${PATH}?status=pending&operation=quick`)).body.items).toHaveLength(3)
    expect((await ask('GET', `${PATH}?item_id=item%2F1`)).body.items).toMatchObject([{ item_id: 'item/1' }])
    expect((await ask('GET', `${PATH}?order=newest&limit=1`)).body.items).toMatchObject([
      { original_payload: { i: 2 } },
    ])
    expect((await ask('GET', `${PATH}/stats`)).body).toMatchObject({
      total: 3,
      by_operation: { quick: { pending: 3 } },
    })
  })

  test('are replayed one at a time, and the replay is audited with its actor and reason', async () => {
    const { ask, hf, ids } = await filled(1)
    const seen: unknown[] = []
    hf.deadLetters.handle('quick', (payload) => seen.push(payload))
    const answer = await ask('POST', `${PATH}/${encodeURIComponent(ids[0] ?? '')}/replay`, {
      body: { reason: 'fixed' },
    })
    expect(answer).toMatchObject({ status: 200, body: { status: 'completed', processed: true } })
    expect(seen).toEqual([{ i: 0 }])
    const { items } = await hf.audit.list({ action: 'dead_letter.replay' })
    expect(items).toMatchObject([{ actor: 'local', reason: 'fixed' }])
  })

  test('that fail again say so', async () => {
    const { ask, hf, ids } = await filled(1)
    hf.deadLetters.handle('quick', () => {
      throw new Error('still down')
    })
    const answer = await ask('POST', `${PATH}/${encodeURIComponent(ids[0] ?? '')}/replay`)
    expect(answer).toMatchObject({ status: 200, body: { status: 'failed' } })
    expect(answer.body.error_details.history.at(-1)).toMatchObject({ error_message: 'still down' })
  })

  test('that are being replayed are neither replayed nor deleted', async () => {
    const { ask, hf, ids } = await filled(1)
    const path = `${PATH}/${encodeURIComponent(ids[0] ?? '')}`
    let finish = () => {}
    hf.deadLetters.handle('quick', () => new Promise<void>((resolve) => (finish = resolve)))
    const first = ask('POST', `${path}/replay`)
    while ((await ask('GET', path)).body.status !== 'replaying');
    const second = await ask('POST', `${path}/replay`)
    expect(second).toMatchObject({ status: 409, body: { error: 'DEAD_LETTER_LEASED' } })
    expect(await ask('DELETE', path)).toMatchObject({ status: 409, body: { error: 'DEAD_LETTER_LEASED' } })
    finish()
    expect((await first).body.status).toBe('completed')
  })

  test('are deleted for good', async () => {
    const { ask, ids, hf } = await filled(2)
    const path = `${PATH}/${encodeURIComponent(ids[0] ?? '')}`
    expect(await ask('DELETE', path, { headers: { 'x-reason': 'spam' } })).toMatchObject({ status: 204 })
    expect(await ask('GET', path)).toMatchObject({ status: 404, body: { error: 'DEAD_LETTER_NOT_FOUND' } })
    expect((await ask('GET', `${PATH}/stats`)).body.total).toBe(1)
    expect((await hf.audit.list({ action: 'dead_letter.purge' })).items).toMatchObject([
      { actor: 'local', reason: 'spam' },
    ])
  })

  test.each(['GET', 'DELETE', 'POST'])('that are not there are not found by %s', async (method) => {
    const { ask } = await open()
    const answer = await ask(method, `${PATH}/dlq_x${method === 'POST' ? '/replay' : ''}`)
    expect(answer).toMatchObject({ status: 404, body: { error: 'DEAD_LETTER_NOT_FOUND' } })
  })
})

describe('a batch', () => {
  test('is a job with progress at its own address', async () => {
    const fixture = await filled(5)
    const { ask, hf } = fixture
    hf.deadLetters.handle('quick', (payload: { i: number }) => {
      if (payload.i === 2) throw new Error('still down')
    })
    const { status, body, headers } = await ask('POST', `${PATH}/replay`, {
      body: { operation: 'quick', concurrency: 1 },
    })
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'running', succeeded: 0 })
    expect(headers.get('location')).toBe(`/api/v1/jobs/${body.job_id}`)
    const job = await ended(fixture, headers.get('location') ?? '')
    expect(job).toMatchObject({
      status: 'succeeded',
      succeeded: 4,
      failed: 1,
      skipped: 0,
      total: 5,
      ended_at: expect.any(String),
    })
    expect((await ask('GET', '/api/v1/jobs')).body.items).toMatchObject([{ job_id: body.job_id }])
  })

  test('is cancelled: nothing more is begun', async () => {
    const fixture = await filled(5)
    const { ask, hf } = fixture
    let calls = 0
    hf.deadLetters.handle('quick', () => {
      calls++
    })
    const { body } = await ask('POST', `${PATH}/replay`, { body: { rate: 1, concurrency: 1 } })
    while (calls === 0) await fixture.clock.advance(1)
    await ask('POST', `/api/v1/jobs/${body.job_id}/cancel`)
    expect(await ended(fixture, `/api/v1/jobs/${body.job_id}`)).toMatchObject({ status: 'cancelled' })
    expect(calls).toBeLessThan(5)
  })

  test('takes no body, and no nonsense', async () => {
    const { ask } = await open()
    expect(await ask('POST', `${PATH}/replay`)).toMatchObject({ status: 202 })
    for (const body of [{ limit: 0 }, { rate: 0 }, { operations: 'x' }])
      expect(await ask('POST', `${PATH}/replay`, { body })).toMatchObject({ status: 400 })
    expect(await ask('GET', '/api/v1/jobs/none')).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } })
  })
})
