import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFetch, type FetchTarget } from '../../src/http/index.js'
import { guard, Pool } from '../../src/index.js'
import { openai } from '../../src/presets/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { type ResilienceOptions, resilience } from '../../src/undici/index.js'
import { problemsOf } from '../breaker/setup.js'
import { type Act, immediate, serve } from './server.js'

const post = { method: 'POST', body: '{}' }
const retry = { ...immediate, notProcessedStatuses: [429, 503] }

const quota = (size = 0): Act => ({
  status: 429,
  headers: { 'content-type': 'application/json', 'retry-after-ms': '1' },
  body: JSON.stringify({
    error: { message: 'x'.repeat(size), type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
  }),
})

function dispatcher(options: ResilienceOptions) {
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  return plain.compose(resilience(options))
}

describe('a status in notProcessedStatuses', () => {
  it.each(['POST', 'PATCH', 'PURGE', 'post'])('lets a %s be sent again', async (method) => {
    const server = await serve(429, 503)
    const response = await createFetch({ retry })(server.url, { method, body: '{}' })
    expect(response.status).toBe(200)
    expect(server.seen.map(({ body }) => body)).toEqual(['{}', '{}', '{}'])
  })

  it('has no effect on other statuses and lost connections', async () => {
    const server = await serve(500)
    expect((await createFetch({ retry })(server.url, post)).status).toBe(500)
    const second = await serve('reset')
    await expect(createFetch({ retry })(second.url, post)).rejects.toThrow()
    expect([server.seen.length, second.seen.length]).toEqual([1, 1])
  })

  it('is retried for every method even if it is classified as permanent', async () => {
    const server = await serve(409, 200, 409)
    const send = createFetch({ retry: { ...immediate, notProcessedStatuses: [409] } })
    expect((await send(server.url, post)).status).toBe(200)
    expect((await send(server.url)).status).toBe(200)
    expect(server.seen).toHaveLength(4)
  })

  it('is not retried when retryStatusCodes, retryOn or abortOn exclude it', async () => {
    const server = await serve(429, 429, 429)
    for (const more of [{ retryStatusCodes: [502] }, { retryOn: ['timeout'] }, { abortOn: ['rate_limited'] }])
      expect((await createFetch({ retry: { ...retry, ...more } })(server.url, post)).status).toBe(429)
    expect(server.seen).toHaveLength(3)
  })

  it('can be set for one request', async () => {
    const server = await serve(429)
    const send = createFetch({ retry: immediate })
    const response = await send(server.url, { ...post, retry: { notProcessedStatuses: [429] } })
    expect(response.status).toBe(200)
  })

  it('does not send a stream again that was read', async () => {
    const server = await serve(429)
    const body = new Blob(['part']).stream()
    const response = await createFetch({ retry })(server.url, { method: 'POST', body, duplex: 'half' })
    expect(response.status).toBe(429)
    expect(server.seen).toHaveLength(1)
  })

  it('sends a body from a function and that of a Request again', async () => {
    const server = await serve(429, 200, 503)
    const send = createFetch({ retry })
    await send(server.url, { method: 'POST', body: () => new Blob(['made']).stream() })
    await send(new Request(server.url, { method: 'POST', body: 'whole' }))
    expect(server.seen.map(({ body }) => body)).toEqual(['made', 'made', 'whole', 'whole'])
  })

  it('has no effect on a request that was redirected', async () => {
    const server = await serve({ status: 303, headers: { location: '/after' } }, 429)
    const response = await createFetch({ retry })(server.url, post)
    expect(response.status).toBe(429)
    expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })

  it('fails over to another member of a pool', async () => {
    const [busy, idle] = [await serve(503), await serve()]
    const pool = new Pool<FetchTarget>({
      id: 'p',
      members: [busy, idle].map(({ url }, i) => ({ id: `m${i}`, value: { origin: url } })),
    })
    expect((await createFetch({ retry, pool })('http://any.example/x', post)).status).toBe(200)
    expect([busy.seen.length, idle.seen.length]).toEqual([1, 1])
  })

  it('works in the interceptor for undici, also for streamed bodies', async () => {
    const server = await serve(429, 503)
    const response = await undiciFetch(server.url, { ...post, dispatcher: dispatcher({ retry }) })
    expect(response.status).toBe(200)
    expect(server.seen).toHaveLength(3)
    const other = await serve(429)
    const streamed = await undiciFetch(other.url, {
      method: 'POST',
      body: new Blob(['x']).stream(),
      duplex: 'half',
      dispatcher: dispatcher({ retry }),
    })
    expect([streamed.status, other.seen.length]).toEqual([429, 1])
  })

  it('is accepted and ignored by a guard, like the other options of a fetch', async () => {
    const only = {
      notProcessedStatuses: [429],
      retryStatusCodes: [503],
      retryNonIdempotent: true,
      idempotencyKey: true,
    }
    const api = guard({ retry: { ...immediate, ...only } })
    expect(await api.run(async () => 1)).toBe(1)
    expect(await api.run(async () => 2, { retry: only })).toBe(2)
    expect(await guard(openai).run(async () => 3)).toBe(3)
  })

  it('must be a status from 400 to 599', () => {
    expect(problemsOf(() => createFetch({ retry: { notProcessedStatuses: [200] } }))).toEqual([
      'retry.notProcessedStatuses: expected an array of statuses from 400 to 599, got [200]',
    ])
  })
})

describe('an error code in the body of a response', () => {
  const limited = { ...immediate, notProcessedStatuses: [429], abortOn: ['insufficient_quota'] }

  it('is matched by abortOn, and the caller can read the whole body', async () => {
    const server = await serve(quota())
    const response = await createFetch({ retry: limited })(server.url, post)
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ error: { code: 'insufficient_quota' } })
    expect(server.seen).toHaveLength(1)
  })

  it('is matched whatever the content type is, and as error type too', async () => {
    let sent = 0
    const send = createFetch({
      retry: limited,
      fetch: async () => {
        sent++
        return new Response('{"error":{"type":"insufficient_quota","code":null}}', { status: 429 })
      },
    })
    expect(await (await send('http://a.example', post)).text()).toContain('insufficient_quota')
    expect(sent).toBe(1)
  })

  it('is found in the first 64 kB of a long body, but not beyond', async () => {
    const head = await serve({
      status: 429,
      body: `{"error":{"code":"insufficient_quota","message":"${'x'.repeat(200_000)}"}}`,
    })
    const response = await createFetch({ retry: limited })(head.url)
    expect([response.status, head.seen.length]).toEqual([429, 1])
    expect((await response.text()).length).toBeGreaterThan(200_000)
    const tail = await serve(quota(200_000))
    expect((await createFetch({ retry: limited })(tail.url)).status).toBe(200)
  })

  it('is not awaited when the body does not arrive', async () => {
    const clock = fakeClock()
    let calls = 0
    const send = createFetch({
      clock,
      retry: limited,
      fetch: async () =>
        ++calls === 1 ? new Response(new ReadableStream(), { status: 429 }) : new Response('done'),
    })
    const asked = send('http://a.example', post)
    await clock.advance(2000)
    expect(await (await asked).text()).toBe('done')
  })

  it('does not change the classification of the response', async () => {
    const server = await serve({ status: 503, body: '{"code":"gateway_timeout"}' })
    const failures: unknown[] = []
    const send = createFetch({ retry: { ...immediate, abortOn: ['something_else'] } })
    send.on((event) => event.type === 'attempt_failed' && failures.push(event.error))
    await send(server.url)
    expect(failures).toMatchObject([{ status: 503, cause: { code: 'gateway_timeout' } }])
  })

  it.each(['identity', 'gzip'])(
    'is found under the interceptor for undici, with %s coding',
    async (coding) => {
      const { gzipSync } = await import('node:zlib')
      const text = '{"error":{"code":"insufficient_quota"}}'
      const server = await serve((_, response) => {
        response.writeHead(429, { 'content-encoding': coding }).end(coding === 'gzip' ? gzipSync(text) : text)
      })
      const response = await undiciFetch(server.url, { ...post, dispatcher: dispatcher({ retry: limited }) })
      expect([response.status, await response.text(), server.seen.length]).toEqual([429, text, 1])
    },
  )
})
