import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sessionOf } from 'holdfast'
import { StatusError } from 'holdfast/http'
import { describe, expect, it } from 'vitest'
import type { Holdfast } from '../../src/index.js'
import { folder, refused, start } from '../holdfast/setup.js'

const CONFIG = {
  policies: { api: { maxAttempts: 3, backoffType: 'immediate' } },
  circuitBreakers: { shop: { failureThreshold: 2, windowType: 'consecutive' } },
  redact: { keys: ['x-shop-pin', 'pin'] },
} as const

const URL_OF_ORDER = 'https://shop.example/orders/7'

interface Sent {
  url: string
  method: string
  headers: Record<string, string>
  body: string
}

type Answer = number | Error | (() => Promise<Response>)

/** A fetch that answers with statuses or errors in turn, and the requests it received. */
function answering(...answers: Answer[]) {
  const sent: Sent[] = []
  const fetch = async (input: Parameters<typeof globalThis.fetch>[0], init?: RequestInit) => {
    // The Request of the platform rejects credentials in a URL; other fetch functions accept them.
    const target = input instanceof Request ? input : new URL(String(input).replace(/\/\/[^/]*@/, '//'))
    const request = new Request(target, init)
    const { url, method, headers } = request
    sent.push({ url, method, headers: Object.fromEntries(headers), body: await request.text() })
    const answer = answers.shift() ?? 200
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer() : new Response(`status ${answer}`, { status: answer })
  }
  return { sent, fetch }
}

const deadLettersOf = async (hf: Holdfast) => (await hf.deadLetters.list()).items

describe('hf.createFetch', () => {
  it('retries by the policy of the operation, and records session, metrics and events', async () => {
    const { hf, events } = await start(CONFIG)
    const { fetch, sent } = answering(503, refused(), 200)
    const response = await hf.createFetch('api', { fetch })(URL_OF_ORDER, { context: { user: 7 } })

    expect([response.status, await response.text()]).toEqual([200, 'status 200'])
    expect(sent).toHaveLength(3)
    expect((await hf.sessions.list()).items).toMatchObject([
      {
        operation: 'api',
        policyId: 'api',
        success: true,
        attempts: [{ statusCode: 503 }, { outcome: 'failure' }, { outcome: 'success' }],
        context: { method: 'GET', origin: 'https://shop.example', url: URL_OF_ORDER, user: 7 },
      },
    ])
    expect(events.map(({ eventType }) => eventType)).toEqual([
      'retry_attempt',
      'retry_attempt',
      'retry_success',
    ])
    expect(hf.metrics.counters().operations.get('api')).toMatchObject({ recovered: 1, retries: 2 })
  })

  it('returns the last response whatever its status, and throws it with throwOnStatus', async () => {
    const { hf } = await start(CONFIG)
    const response = await hf.createFetch('api', { fetch: answering(503, 502, 500).fetch })(URL_OF_ORDER)
    expect([response.status, await response.text()]).toEqual([500, 'status 500'])
    expect((await hf.sessions.list()).items).toMatchObject([{ success: false, stopped: 'attempts_spent' }])

    const error = await hf
      .createFetch('api', { fetch: answering(404).fetch, throwOnStatus: true })(URL_OF_ORDER)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StatusError)
    expect(error).toMatchObject({ status: 404 })
  })

  it('returns responses whose session sessionOf returns, with and without a retry, fallback and when disabled', async () => {
    const { hf } = await start(CONFIG)
    const facts = async (operation: Holdfast, answers: Answer[], options: object = {}) => {
      const { fetch } = answering(...answers)
      const session = sessionOf(await operation.createFetch('api', { fetch, ...options })(URL_OF_ORDER))
      return [session?.stopped, session?.attempts.map(({ outcome }) => outcome)]
    }
    expect(await facts(hf, [200])).toEqual(['succeeded', ['success']])
    expect(await facts(hf, [refused(), 200])).toEqual(['succeeded', ['failure', 'success']])
    expect(await facts(hf, [503, 503, 503])).toEqual(['attempts_spent', Array(3).fill('failure')])
    const fallback = () => new Response('cached')
    expect(await facts(hf, Array(3).fill(refused()), { fallback })).toEqual([
      'attempts_spent',
      Array(3).fill('failure'),
    ])
    const disabled = await start({ policies: { api: { ...CONFIG.policies.api, enabled: false } } })
    expect(await facts(disabled.hf, [200])).toEqual(['succeeded', ['success']])
  })

  it('returns a permanent status without a retry and without a session', async () => {
    const { hf } = await start(CONFIG)
    const { fetch, sent } = answering(404)
    expect((await hf.createFetch('api', { fetch })(URL_OF_ORDER)).status).toBe(404)
    expect(sent).toHaveLength(1)
    expect((await hf.sessions.list()).items).toEqual([])
  })

  it('sends a POST again only with an Idempotency-Key, or where the policy allows it', async () => {
    const { hf } = await start({
      policies: {
        api: CONFIG.policies.api,
        bold: { ...CONFIG.policies.api, retryNonIdempotent: true },
        strict: { ...CONFIG.policies.api, retryStatusCodes: [502] },
      },
    })
    const post = (operation: string, init: RequestInit, status = 503) => {
      const { fetch, sent } = answering(status, 200)
      return hf
        .createFetch(operation, { fetch })(URL_OF_ORDER, { method: 'POST', body: 'x', ...init })
        .then(({ status }) => [status, sent.length])
    }
    expect(await post('api', {})).toEqual([503, 1])
    expect(await post('api', { headers: { 'Idempotency-Key': 'k1' } })).toEqual([200, 2])
    expect(await post('bold', {})).toEqual([200, 2])
    expect(await post('strict', { method: 'PUT' })).toEqual([503, 1])
    expect(await post('strict', { method: 'PUT' }, 502)).toEqual([200, 2])
  })

  it('uses the breaker of a service, and rejects while it is open', async () => {
    const { hf } = await start(CONFIG)
    const { fetch, sent } = answering(503, 503)
    const request = hf.createFetch('api', { fetch, service: 'shop' })
    expect((await request(URL_OF_ORDER)).status).toBe(503)
    await expect(request(URL_OF_ORDER)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(sent).toHaveLength(2)
  })

  it('sends each attempt to a member of a pool, and never a request that must not be repeated', async () => {
    const { hf } = await start({
      ...CONFIG,
      pools: {
        shops: {
          members: [
            { id: 'a', url: 'https://a.example' },
            { id: 'b', url: 'https://b.example' },
          ],
        },
      },
    })
    const { fetch, sent } = answering(503, 200, 503)
    const request = hf.createFetch('api', { fetch, pool: 'shops' })

    expect((await request('/orders/7')).status).toBe(200)
    expect(new Set(sent.map(({ url }) => url))).toEqual(
      new Set(['https://a.example/orders/7', 'https://b.example/orders/7']),
    )
    expect((await request('/orders', { method: 'POST', body: 'x' })).status).toBe(503)
    expect(sent).toHaveLength(3)
    expect(Object.keys((await hf.metrics.byMember()).proxies)).toHaveLength(2)
  })

  it('takes retry and timeout of one request, in addition to those of the fetch', async () => {
    const { hf, clock } = await start(CONFIG)
    const hang = () => new Promise<Response>(() => {})
    const { fetch, sent } = answering(hang, 503, 503, 503, 200)
    const request = hf.createFetch('api', { fetch, retry: { maxAttempts: 2 }, timeout: { attempt: '1h' } })

    const slow = request(URL_OF_ORDER, { retry: false, timeout: { attempt: 50 } }).catch((e: unknown) => e)
    await clock.advance(50)
    expect(await slow).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    expect(sent).toHaveLength(1)

    expect((await request(URL_OF_ORDER)).status).toBe(503)
    expect(sent).toHaveLength(3)
    expect((await request(URL_OF_ORDER, { retry: { maxAttempts: 3 } })).status).toBe(200)
    await expect(request(URL_OF_ORDER, { timeout: { each: 5 } as never })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('keeps an option of the fetch that a request sets to undefined', async () => {
    const { hf, clock } = await start(CONFIG)
    const { fetch, sent } = answering(503, () => new Promise(() => {}))
    const request = hf.createFetch('api', { fetch, retry: { maxAttempts: 1 }, timeout: { attempt: '1s' } })
    await request(URL_OF_ORDER, { retry: { maxAttempts: undefined } })
    expect(sent).toHaveLength(1)
    const call = request(URL_OF_ORDER, { timeout: { attempt: undefined, total: '1m' } })
    const ended = expect(call).rejects.toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    await clock.advance(1000)
    await ended
  })

  it('aborts the request when the caller aborts, and when the call is cancelled', async () => {
    const { hf } = await start(CONFIG)
    const signals: AbortSignal[] = []
    let count = 0
    const request = hf.createFetch('api', {
      fetch: (_, init) => {
        if (count++ === 1) return Promise.reject(refused())
        signals.push(init?.signal as AbortSignal)
        return new Promise(() => {})
      },
    })
    const controller = new AbortController()
    const aborted = request(URL_OF_ORDER, { signal: controller.signal }).catch((e: unknown) => e)
    controller.abort(new Error('gone'))
    expect(await aborted).toMatchObject({ message: 'gone' })
    expect(signals[0]?.aborted).toBe(true)

    const cancelled = request(URL_OF_ORDER).catch((e: unknown) => e)
    await expect.poll(() => signals.length).toBe(2)
    const [active] = (await hf.sessions.list({ active: true })).items
    await hf.sessions.cancel(active?.sessionId as string)
    expect(await cancelled).toMatchObject({ code: 'CANCELLED' })
    expect(signals[1]?.aborted).toBe(true)
  })

  it('follows changes of the configuration', async () => {
    const dir = await folder()
    const file = join(dir, 'holdfast.yaml')
    const write = (attempts: number) =>
      writeFile(
        file,
        `version: "1.2.0"\nstore: memory\npolicies: { api: { max_attempts: ${attempts}, backoff_type: immediate } }\n`,
      )
    await write(1)
    const { hf } = await start(file, { watch: false })
    const { fetch, sent } = answering(503, 503, 503)
    const request = hf.createFetch('api', { fetch })
    await request(URL_OF_ORDER)
    expect(sent).toHaveLength(1)

    await write(2)
    await hf.config.reload()
    await request(URL_OF_ORDER)
    expect(sent).toHaveLength(3)
  })

  it('calls a fallback for an error, and returns the response of a status', async () => {
    const { hf } = await start(CONFIG)
    const fallback = () => new Response('cached')
    const failed = await hf.createFetch('api', {
      fetch: answering(refused(), refused(), refused()).fetch,
      fallback,
    })(URL_OF_ORDER)
    expect(await failed.text()).toBe('cached')
    const answered = await hf.createFetch('api', { fetch: answering(503, 503, 503).fetch, fallback })(
      URL_OF_ORDER,
    )
    expect(answered.status).toBe(503)
    const served = (await hf.sessions.list()).items.map((session) => session.served)
    expect(served).toEqual([undefined, 'fallback'])
  })

  it('emits the events of its operation', async () => {
    const { hf } = await start(CONFIG)
    const request = hf.createFetch('api', { fetch: answering(503).fetch })
    const types: string[] = []
    request.on(({ type }) => void types.push(type))
    await request(URL_OF_ORDER)
    expect(types).toEqual(['attempt_failed', 'retry_scheduled', 'succeeded'])
  })

  it('rejects unknown options and operations', async () => {
    const { hf } = await start(CONFIG)
    expect(() => hf.createFetch('api', { deadLetters: true } as never)).toThrow(/did you mean deadLetter/)
    expect(() => hf.createFetch('')).toThrow(/operation/)
    await expect(hf.createFetch('api', { service: 'none' })(URL_OF_ORDER)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('hf.createFetch with deadLetter', () => {
  it('stores a request that fails, without credentials, and returns the response', async () => {
    const { hf } = await start(CONFIG)
    const { fetch } = answering(503, 503, 503)
    const request = hf.createFetch('api', { fetch, deadLetter: true })
    const response = await request('https://user:secret@shop.example/orders/7?pin=1234&page=2#top', {
      method: 'PUT',
      body: JSON.stringify({ amount: 5 }),
      headers: {
        Authorization: 'Bearer abc',
        Cookie: 'a=b',
        'Proxy-Authorization': 'Basic abc',
        'X-Shop-Pin': '1234',
        'Content-Type': 'application/json',
        Accept: 'text/plain',
      },
    })

    expect([response.status, await response.text()]).toEqual([503, 'status 503'])
    const [entry] = await deadLettersOf(hf)
    expect(entry).toMatchObject({ operationType: 'api', status: 'pending', errorDetails: { retryCount: 2 } })
    expect(entry?.originalPayload).toEqual({
      method: 'PUT',
      url: 'https://shop.example/orders/7?page=2',
      headers: { accept: 'text/plain', 'content-type': 'application/json' },
      body: '{"amount":5}',
      body_encoding: 'utf8',
    })
    expect(JSON.stringify(entry)).not.toMatch(/secret|Bearer|1234/)
  })

  it('stores a relative URL without secret query parameters, and replays it', async () => {
    const { hf } = await start({
      ...CONFIG,
      pools: { shops: { members: [{ id: 'a', url: 'https://a.example' }] } },
    })
    const { fetch, sent } = answering(503, 503, 503)
    const request = hf.createFetch('api', { fetch, pool: 'shops', deadLetter: true })
    await request('/orders/7?pin=1234&page=2#top', { method: 'DELETE' })

    const [entry] = await deadLettersOf(hf)
    expect(entry).toMatchObject({ originalPayload: { url: '/orders/7?page=2' } })
    expect(JSON.stringify(entry?.originalPayload)).not.toContain('1234')
    await hf.deadLetters.replay(entry?.dlqId ?? '')
    expect(sent.at(-1)?.url).toBe('https://a.example/orders/7?page=2')
  })

  it('stores a request whose attempts end with an error, and rejects with that error', async () => {
    const { hf } = await start(CONFIG)
    const { fetch } = answering(refused(), refused(), refused())
    const request = hf.createFetch('api', { fetch, deadLetter: true })
    await expect(request(URL_OF_ORDER, { method: 'DELETE' })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(await deadLettersOf(hf)).toMatchObject([
      { originalPayload: { method: 'DELETE', url: URL_OF_ORDER, body: null, body_encoding: null } },
    ])
  })

  it('stores a POST only with an Idempotency-Key, which becomes the key of the entry', async () => {
    const { hf } = await start(CONFIG)
    const request = hf.createFetch('api', { fetch: answering(503, 503, 503, 503).fetch, deadLetter: true })
    await request(URL_OF_ORDER, { method: 'POST', body: 'x' })
    expect(await deadLettersOf(hf)).toEqual([])
    await request(URL_OF_ORDER, { method: 'POST', body: 'x', headers: { 'Idempotency-Key': 'order-7' } })
    expect(await deadLettersOf(hf)).toMatchObject([
      { idempotencyKey: 'order-7', originalPayload: { headers: { 'idempotency-key': 'order-7' } } },
    ])
  })

  it('stores a status that its policy retries, and with throwOnStatus every status', async () => {
    const policies = { api: { maxAttempts: 1, retryStatusCodes: [501, 503] } }
    const { hf } = await start({ ...CONFIG, policies })
    const { fetch } = answering(500, 501, 503, 401)
    const request = hf.createFetch('api', { fetch, deadLetter: true })
    for (const _ of [500, 501, 503]) await request(URL_OF_ORDER)
    const statuses = async () =>
      (await deadLettersOf(hf)).map(({ errorDetails }) => errorDetails.errorMessage.slice(-3)).toSorted()
    expect(await statuses()).toEqual(['501', '503'])
    const throwing = hf.createFetch('api', { fetch, deadLetter: true, throwOnStatus: true })
    await expect(throwing(URL_OF_ORDER)).rejects.toMatchObject({ status: 401 })
    expect(await statuses()).toEqual(['401', '501', '503'])
  })

  it('stores nothing for a success, a permanent or critical status or an abort', async () => {
    const { hf } = await start(CONFIG)
    const request = hf.createFetch('api', {
      fetch: answering(200, 404, 401, () => new Promise(() => {})).fetch,
      deadLetter: true,
    })
    await request(URL_OF_ORDER)
    await request(URL_OF_ORDER)
    await request(URL_OF_ORDER)
    const controller = new AbortController()
    const aborted = request(URL_OF_ORDER, { signal: controller.signal }).catch(() => 'aborted')
    controller.abort()
    expect(await aborted).toBe('aborted')
    expect(await deadLettersOf(hf)).toEqual([])
  })

  it('stores bytes as base64, and the bodies of forms, functions and Requests with their type', async () => {
    const { hf } = await start({ ...CONFIG, policies: { api: { maxAttempts: 1 } } })
    const statuses = Array.from({ length: 5 }, () => 503)
    const request = hf.createFetch('api', { fetch: answering(...statuses).fetch, deadLetter: true })
    const put = { method: 'PUT' }
    await request(`${URL_OF_ORDER}?1`, { ...put, body: Uint8Array.of(0, 255) })
    await request(`${URL_OF_ORDER}?2`, { ...put, body: new URLSearchParams({ a: 'b c' }) })
    await request(`${URL_OF_ORDER}?3`, { ...put, body: () => 'made' })
    const response = await request(new Request(`${URL_OF_ORDER}?4`, { ...put, body: 'of a Request' }))
    expect(await response.text()).toBe('status 503')

    const stored = (await hf.deadLetters.list({ order: 'oldest' })).items.map(
      ({ originalPayload }) => originalPayload as { headers: Record<string, string> },
    )
    expect(stored).toMatchObject([
      { body: 'AP8=', body_encoding: 'base64' },
      {
        body: 'a=b+c',
        body_encoding: 'utf8',
        headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
      },
      { body: 'made', body_encoding: 'utf8' },
      { body: 'of a Request', body_encoding: 'utf8' },
    ])
  })

  it('reports a stream, which cannot be stored, and still returns the response', async () => {
    const { hf, events } = await start({ ...CONFIG, policies: { api: { maxAttempts: 1 } } })
    const request = hf.createFetch('api', { fetch: answering(503).fetch, deadLetter: true })
    const body = new Blob(['streamed']).stream()
    const response = await request(URL_OF_ORDER, { method: 'PUT', body, duplex: 'half' })
    expect(response.status).toBe(503)
    expect(await deadLettersOf(hf)).toEqual([])
    expect(events.at(-1)).toMatchObject({
      eventType: 'dead_letter_failed',
      error: { message: expect.stringContaining('is a stream') },
    })
  })

  it('replays a stored request with the headers that options.headers returns', async () => {
    const { hf } = await start({ ...CONFIG, policies: { api: { maxAttempts: 1 } } })
    const { fetch, sent } = answering(503, 200)
    const headers = async () => ({ Authorization: 'Bearer fresh' })
    const request = hf.createFetch('api', { fetch, deadLetter: true, headers })
    await request(URL_OF_ORDER, {
      method: 'POST',
      body: Uint8Array.of(0, 255),
      headers: { Authorization: 'Bearer old', 'Idempotency-Key': 'order-7' },
    })
    expect(sent[0]?.headers.authorization).toBe('Bearer old')
    const [entry] = await deadLettersOf(hf)

    expect(await hf.deadLetters.replay(entry?.dlqId as string)).toMatchObject({ status: 'completed' })
    expect(sent[1]).toMatchObject({
      method: 'POST',
      url: URL_OF_ORDER,
      headers: { authorization: 'Bearer fresh', 'idempotency-key': 'order-7' },
      body: sent[0]?.body,
    })
  })

  it('counts a replay that is answered with an error status as failed, and stores no second entry', async () => {
    const { hf } = await start(CONFIG)
    const { fetch, sent } = answering(503, 503, 503, 503, 503, 503, 404)
    const request = hf.createFetch('api', { fetch, deadLetter: true })
    await request(URL_OF_ORDER, { method: 'PUT', body: 'x' })
    const [entry] = await deadLettersOf(hf)

    expect(await hf.deadLetters.replay(entry?.dlqId as string)).toMatchObject({ status: 'failed' })
    expect(sent).toHaveLength(6)
    const again = await hf.deadLetters.replay(entry?.dlqId as string)
    expect(again).toMatchObject({ status: 'failed' })
    expect(again.errorDetails.history).toMatchObject([{ retryCount: 2 }, { retryCount: 0 }])
    expect(await deadLettersOf(hf)).toHaveLength(1)
  })

  it('rejects a request while the queue is full and refuses calls', async () => {
    const { hf } = await start({ ...CONFIG, deadLetters: { maxEntries: 1, whenFull: 'refuse' } })
    const { fetch, sent } = answering(503, 503, 503)
    const request = hf.createFetch('api', { fetch, deadLetter: true })
    await request(URL_OF_ORDER, { method: 'PUT', body: 'x' })
    await expect(request(URL_OF_ORDER, { method: 'PUT', body: 'y' })).rejects.toMatchObject({
      code: 'DEAD_LETTERS_FULL',
    })
    expect(sent).toHaveLength(3)
  })
})
