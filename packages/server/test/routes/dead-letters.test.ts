import { HoldfastError } from 'holdfast'
import { describe, expect, test, vi } from 'vitest'
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

describe('a selection of dead letters', () => {
  const QUERY = '?search=%22i%22:1&status=pending&status=failed'

  test('is counted, replayed and purged by the same filters', async () => {
    const fixture = await filled(4)
    const { ask, hf } = fixture
    const seen: number[] = []
    hf.deadLetters.handle('quick', ({ i }: { i: number }) => void seen.push(i))
    const count = await ask('GET', `${PATH}/count${QUERY}`)
    expect(count).toMatchObject({
      status: 200,
      body: { total: 1, by_status: { pending: 1, completed: 0 }, counted_at: expect.any(String) },
    })
    expect((await ask('GET', `${PATH}${QUERY}`)).body.items).toMatchObject([{ item_id: 'item/1' }])
    const body = { search: '"i":1', status: ['pending', 'failed', 'replaying'] }
    const job = await ask('POST', `${PATH}/replay`, { body })
    expect(job).toMatchObject({ status: 202, body: { total: 1 } })
    expect(await ended(fixture, `/api/v1/jobs/${job.body.job_id}`)).toMatchObject({ succeeded: 1, skips: [] })
    expect(seen).toEqual([1])
    expect(await ask('POST', `${PATH}/purge`, { body: { item_id: 'item/2', reason: 'spam' } })).toMatchObject(
      {
        status: 200,
        body: { purged: 1, skipped: 0 },
      },
    )
    expect((await hf.audit.list({ action: 'dead_letter.purge' })).items).toMatchObject([{ reason: 'spam' }])
    expect((await ask('GET', `${PATH}/count`)).body.total).toBe(3)
    for (const wrong of [{}, { reason: 'all' }, { all: false }, { item: 'x' }])
      expect(await ask('POST', `${PATH}/purge`, { body: wrong })).toMatchObject({ status: 400 })
    expect((await ask('POST', `${PATH}/purge`, { body: { all: true } })).body).toEqual({
      purged: 3,
      skipped: 0,
    })
  })

  test('by ids replays failed dead letters too', async () => {
    const fixture = await filled(3)
    const { ask, ids, hf } = fixture
    hf.deadLetters.handle('quick', () => {
      throw new Error('still down')
    })
    for (const expected of [1, 1]) {
      const { body } = await ask('POST', `${PATH}/replay`, { body: { ids: [ids[2]] } })
      expect(body.total).toBe(expected)
      expect(await ended(fixture, `/api/v1/jobs/${body.job_id}`)).toMatchObject({ failed: 1, skipped: 0 })
    }
    expect((await ask('GET', `${PATH}/count`)).body.by_status).toMatchObject({ failed: 1, pending: 2 })
  })

  test('without a handler is skipped for that reason', async () => {
    const fixture = await filled(2)
    const { body } = await fixture.ask('POST', `${PATH}/replay`)
    expect(await ended(fixture, `/api/v1/jobs/${body.job_id}`)).toMatchObject({
      skipped: 2,
      skips: [{ reason: 'no_handler', count: 2, operations: ['quick'] }],
    })
  })
})

describe('the payload of a dead letter', () => {
  test('is edited: the original stays, replays use the edited one, the edit is audited without values', async () => {
    const { ask, hf, ids } = await filled(1)
    const path = `${PATH}/${encodeURIComponent(ids[0] ?? '')}`
    const edited = await ask('PUT', `${path}/payload`, {
      body: { payload: { i: 'hidden-value' }, reason: 'typo' },
    })
    expect(edited).toMatchObject({
      status: 200,
      body: { original_payload: { i: 0 }, edited_payload: { i: 'hidden-value' }, status: 'pending' },
    })
    const { items } = await hf.audit.list({ action: 'dead_letter.edit' })
    expect(items).toMatchObject([
      { actor: 'local', target: ids[0], reason: 'typo', after: { fields: ['i'] } },
    ])
    expect(JSON.stringify(items)).not.toContain('hidden-value')
    const seen: unknown[] = []
    hf.deadLetters.handle('quick', (payload) => void seen.push(payload))
    expect((await ask('POST', `${path}/replay`)).body).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([{ i: 'hidden-value' }])
    expect(await ask('PUT', `${path}/payload`, { body: { payload: 1 } })).toMatchObject({ status: 400 })
  })

  test.each([
    [{ payload: null }, 400],
    [{}, 400],
    [{ payload: 1, extra: 1 }, 400],
    [{ payload: 'x'.repeat(1_048_580) }, 413],
  ])('is not replaced by %o', async (body, status) => {
    const { ask, ids } = await filled(1)
    const answer = await ask('PUT', `${PATH}/${encodeURIComponent(ids[0] ?? '')}/payload`, { body })
    expect(answer.status).toBe(status)
    expect(await ask('PUT', `${PATH}/dlq_none/payload`, { body: { payload: 1 } })).toMatchObject({
      status: 404,
      body: { error: 'DEAD_LETTER_NOT_FOUND' },
    })
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

  test.each([
    ['an unexpected one', new TypeError('cannot read http://ann:hunter2@db'), 1, /see the log of the server/],
    [
      'one of the runtime',
      new HoldfastError('STORE_UNAVAILABLE', 'no answer of http://ann:hunter2@db'),
      0,
      /no answer/,
    ],
  ])('that ends with this error reports it without secrets: %s', async (_, error, logged, message) => {
    const lines: object[] = []
    const fixture = await open({ logger: { error: (fields, text) => void lines.push({ ...fields, text }) } })
    vi.spyOn(fixture.hf.deadLetters, 'replayBatch').mockRejectedValueOnce(error)
    const { body } = await fixture.ask('POST', `${PATH}/replay`)
    const job = await ended(fixture, `/api/v1/jobs/${body.job_id}`)
    expect(job).toMatchObject({ status: 'failed', message: expect.stringMatching(message) })
    expect(lines).toHaveLength(logged)
    if (logged > 0)
      expect(lines[0]).toMatchObject({ jobId: body.job_id, error: expect.stringContaining('TypeError') })
    expect(JSON.stringify([job, lines])).not.toContain('hunter2')
  })

  test('takes no body, and no nonsense', async () => {
    const { ask } = await open()
    expect(await ask('POST', `${PATH}/replay`)).toMatchObject({ status: 202 })
    for (const body of [{ limit: 0 }, { rate: 0 }, { operations: 'x' }])
      expect(await ask('POST', `${PATH}/replay`, { body })).toMatchObject({ status: 400 })
    expect(await ask('GET', '/api/v1/jobs/none')).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } })
  })
})
