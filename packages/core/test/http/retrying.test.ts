import { describe, expect, it } from 'vitest'
import { createFetch, StatusError } from '../../src/http/index.js'
import { classify, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { immediate, nobody, serve, until } from './server.js'

describe('a resilient fetch', () => {
  it('responds like fetch', async () => {
    const server = await serve({ status: 201, headers: { 'x-a': 'b' }, body: 'hello' })
    const response = await createFetch()(`${server.url}/path?q=1`)
    expect(response).toBeInstanceOf(Response)
    expect([response.status, response.headers.get('x-a'), response.url, await response.text()]).toEqual([
      201,
      'b',
      `${server.url}/path?q=1`,
      'hello',
    ])
  })

  it.each([408, 425, 429, 500, 502, 503, 504, 529])('retries after a %d', async (status) => {
    const server = await serve(status, status)
    const response = await createFetch({ retry: immediate })(server.url)
    expect(response.status).toBe(200)
    expect(server.seen).toHaveLength(3)
  })

  it.each([400, 401, 403, 404, 409, 422, 501, 505])('returns a %d without a retry', async (status) => {
    const server = await serve({ status, body: 'no' })
    const response = await createFetch({ retry: immediate })(server.url)
    expect([response.status, await response.text(), server.seen.length]).toEqual([status, 'no', 1])
  })

  it('returns the last response with an unread body when all attempts failed', async () => {
    const server = await serve(503, 503, { status: 503, body: 'still down' })
    const response = await createFetch({ retry: immediate })(server.url)
    expect([response.status, await response.text()]).toEqual([503, 'still down'])
    expect(server.seen).toHaveLength(3)
  })

  it('retries after a reset connection', async () => {
    const server = await serve('reset', 'reset')
    const response = await createFetch({ retry: immediate })(server.url)
    expect([response.status, server.seen.length]).toEqual([200, 3])
  })

  it('throws the error of fetch when no attempt gets a response', async () => {
    const url = await nobody()
    const error = await createFetch({ retry: immediate })(url).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(TypeError)
    expect(classify(error).kind).toBe('network_error')
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })

  it('retries when the headers do not arrive in time', async () => {
    const clock = fakeClock()
    const server = await serve('stall')
    const response = createFetch({ clock, retry: immediate, timeout: { attempt: 300 } })(server.url)
    await until(() => server.seen.length === 1)
    await clock.advance(300)
    expect([(await response).status, server.seen.length]).toEqual([200, 2])
  })

  it('fails with ATTEMPT_TIMEOUT and closes the connection when the headers never arrive', async () => {
    const clock = fakeClock()
    let closed = false
    const server = await serve((request) => request.socket.on('close', () => (closed = true)))
    const end = createFetch({ clock, retry: false, timeout: { attempt: 100 } })(server.url).catch((e) => e)
    await until(() => server.seen.length === 1)
    await clock.advance(100)
    expect(await end).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    await until(() => closed)
  })

  it('has no deadline for the reading of the body', async () => {
    const clock = fakeClock()
    let finish = () => {}
    const server = await serve((_, response) => {
      response.write('begun ')
      finish = () => response.end('and ended')
    })
    const response = await createFetch({ clock, timeout: { attempt: 100, total: 200 } })(server.url)
    await clock.advance(100_000)
    finish()
    expect(await response.text()).toBe('begun and ended')
  })

  it('passes a truncated body on to the caller', async () => {
    const server = await serve('truncate')
    const response = await createFetch({ retry: immediate })(server.url)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    expect(server.seen).toHaveLength(1)
  })

  it('retries only the configured statuses and errors', async () => {
    const server = await serve('reset', 502, 503)
    const picky = createFetch({ retry: { ...immediate, maxAttempts: 9, retryStatusCodes: [502] } })
    expect((await picky(server.url)).status).toBe(503)
    expect(server.seen).toHaveLength(3)
  })

  it('retries a configured status that is permanent by default', async () => {
    const server = await serve(501)
    expect((await createFetch({ retry: { ...immediate, retryStatusCodes: [501] } })(server.url)).status).toBe(
      200,
    )
  })

  it('retries no status with an empty list', async () => {
    const server = await serve(503)
    expect((await createFetch({ retry: { ...immediate, retryStatusCodes: [] } })(server.url)).status).toBe(
      503,
    )
  })

  it('applies retryOn and abortOn to statuses', async () => {
    const server = await serve(409, 409, 503)
    const retryOn = [(error: unknown) => (error as { status?: number }).status === 409]
    expect((await createFetch({ retry: { ...immediate, maxAttempts: 9, retryOn } })(server.url)).status).toBe(
      503,
    )
    server.acts.push(503)
    expect(
      (await createFetch({ retry: { ...immediate, abortOn: ['server_error'] } })(server.url)).status,
    ).toBe(503)
    expect(server.seen).toHaveLength(4)
  })

  it('passes responses to retryIf as values, whatever their status', async () => {
    const server = await serve(202, 404, 503)
    const seen: unknown[] = []
    const poll = createFetch({
      retry: {
        ...immediate,
        maxAttempts: 4,
        retryIf: ({ value, error, attempt }) => {
          seen.push([(value as Response).status, error, attempt])
          return (value as Response).status === 202 || (value as Response).status === 404
        },
      },
    })
    expect((await poll(server.url)).status).toBe(200)
    expect(seen).toEqual([
      [202, undefined, 1],
      [404, undefined, 2],
      [503, undefined, 3],
      [200, undefined, 4],
    ])
  })

  it('overrides the retry options for one request', async () => {
    const server = await serve(503, 503)
    const resilient = createFetch({ retry: { maxAttempts: 1 } })
    expect((await resilient(server.url, { retry: { ...immediate, maxAttempts: 3 } })).status).toBe(200)
    server.acts.push(503)
    expect((await createFetch({ retry: immediate })(server.url, { retry: false })).status).toBe(503)
    expect(server.seen).toHaveLength(4)
  })

  it('rejects a request with invalid options', async () => {
    const resilient = createFetch()
    await expect(resilient('http://a.example', { retry: { maxAttempts: 0 } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await expect(resilient('http://a.example', { retry: 3 as never })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('the Retry-After header', () => {
  it.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after-ms': '150', 'retry-after': '2' }, 150],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:05 GMT' }, 5000],
  ])('delays the retry: %o', async (headers, ms) => {
    const clock = fakeClock({ wall: 0 })
    const answers = [new Response(null, { status: 429, headers }), new Response('fine')]
    const times: number[] = []
    const resilient = createFetch({
      clock,
      fetch: async () => {
        times.push(clock.now())
        return answers.shift() as Response
      },
    })
    const response = resilient('http://a.example')
    await clock.advance(ms - 1)
    expect(times).toEqual([0])
    await clock.advance(1)
    expect((await response).status).toBe(200)
    expect(times).toEqual([0, ms])
  })

  // 31,536,000,000 seconds are more milliseconds than a timer takes, so a timer would end at once.
  it.each(['3600', '31536000000', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'beyond maxRetryAfter ends the retries with the response: %s',
    async (retryAfter) => {
      const server = await serve({ status: 429, headers: { 'retry-after': retryAfter }, body: 'later' })
      const response = await createFetch()(server.url)
      expect([response.status, await response.text(), server.seen.length]).toEqual([429, 'later', 1])
    },
  )

  it('of 0 retries at once', async () => {
    const server = await serve({ status: 503, headers: { 'retry-after': '0' } })
    expect((await createFetch({ retry: { baseDelay: '1h', maxDelay: '1h' } })(server.url)).status).toBe(200)
  })
})

describe('throwOnStatus', () => {
  it('throws an error with status, headers and response, but without secrets', async () => {
    const server = await serve({ status: 404, headers: { 'x-id': '7' }, body: 'gone' })
    const error = await createFetch({ throwOnStatus: true })(`${server.url}/bot123/x?token=hush`).catch(
      (e: unknown) => e,
    )
    expect(error).toBeInstanceOf(StatusError)
    const { status, headers, response, message, name } = error as StatusError
    expect([status, headers.get('x-id'), await response.text(), name]).toEqual([
      404,
      '7',
      'gone',
      'StatusError',
    ])
    expect(message).toBe(`GET ${server.url} answered 404`)
  })

  it('throws after the last attempt, with all attempts in the session', async () => {
    const server = await serve(503, 500, { status: 502, body: 'bad' })
    const error = await createFetch({ throwOnStatus: true, retry: immediate })(server.url).catch(
      (e: unknown) => e,
    )
    expect(sessionOf(error)?.attempts.map(({ statusCode }) => statusCode)).toEqual([503, 500, 502])
    expect(await (error as StatusError).response.text()).toBe('bad')
  })

  it('calls the fallback for a status, which is not called without it', async () => {
    const fallback = () => new Response('plan b')
    const server = await serve(404, 404)
    const thrown = await createFetch({ throwOnStatus: true, fallback })(server.url)
    expect(await thrown.text()).toBe('plan b')
    expect((await createFetch({ fallback })(server.url)).status).toBe(404)
    expect(await (await createFetch({ fallback, retry: false })(await nobody())).text()).toBe('plan b')
  })
})

describe('the breaker of a fetch', () => {
  it('counts error responses, retried or not', async () => {
    const server = await serve(503, 503, 401)
    const resilient = createFetch({ retry: false, breaker: { failureThreshold: 3 } })
    expect((await resilient(server.url, { method: 'POST' })).status).toBe(503)
    expect((await resilient(server.url)).status).toBe(503)
    expect((await resilient(server.url)).status).toBe(401)
    await expect(resilient(server.url)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(server.seen).toHaveLength(3)
  })

  it('does not count a 404 or a 429', async () => {
    const server = await serve(404, 429, 404)
    const resilient = createFetch({ retry: false, breaker: { failureThreshold: 1 } })
    for (let i = 0; i < 3; i++) await resilient(server.url)
    expect((await resilient(server.url)).status).toBe(200)
  })

  it('can be one per origin', async () => {
    const [a, b] = [await serve(500), await serve()]
    const resilient = createFetch({
      retry: false,
      breaker: { failureThreshold: 1, key: (context) => (context as { origin: string }).origin },
    })
    await resilient(a.url)
    await expect(resilient(a.url)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect((await resilient(b.url)).status).toBe(200)
  })
})
