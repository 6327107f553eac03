import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wasNotSent } from '../../src/http/idempotency.js'
import { createFetch } from '../../src/http/index.js'
import { sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { immediate, nobody, serve, until } from './server.js'

const failed = (code: string, more: object = {}) =>
  Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code, ...more }) })

const UNSENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']

const timedOut = (attempted: string) => ({
  code: 'UND_ERR_CONNECT_TIMEOUT',
  message: `Connect Timeout Error (attempted ${attempted})`,
})

describe('the idempotency rule', () => {
  it('matches its specification for every method, key, option, body and outcome', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...IDEMPOTENT, 'POST', 'PATCH', 'post', 'put', 'PURGE'),
        fc.constantFrom(...UNSENT, 'ECONNRESET', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 503, 429, 500),
        fc.record({
          key: fc.constantFrom('none', 'Idempotency-Key', 'idempotency-key'),
          made: fc.boolean(),
          retryNonIdempotent: fc.boolean(),
          stream: fc.boolean(),
        }),
        async (method, outcome, { key, made, retryNonIdempotent, stream }) => {
          const calls: (string | null)[] = []
          const read = typeof outcome === 'number'
          const resilient = createFetch({
            clock: fakeClock(),
            retry: { ...immediate, retryNonIdempotent, idempotencyKey: made },
            fetch: async (_, init) => {
              calls.push(new Headers(init?.headers).get('idempotency-key'))
              if (read && init?.body instanceof ReadableStream) await init.body.cancel()
              if (read) return new Response(null, { status: outcome })
              throw failed(outcome)
            },
          })
          const body = stream ? new Blob(['x']).stream() : 'x'
          const headers: Record<string, string> = key === 'none' ? {} : { [key]: 'mine' }
          await resilient('http://a.example', { method, headers, body, duplex: 'half' }).catch(() => {})

          const upper = method.toUpperCase()
          const keyed = key !== 'none' || (made && !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(upper))
          const allowed =
            IDEMPOTENT.includes(upper) || keyed || retryNonIdempotent || UNSENT.includes(outcome as string)
          expect(calls).toHaveLength(allowed && !(stream && read) ? 3 : 1)
          expect(new Set(calls).size).toBe(1)
          expect(calls[0] === null).toBe(!keyed)
          if (key !== 'none') expect(calls[0]).toBe('mine')
        },
      ),
      { numRuns: 400 },
    )
  })

  it('does not send a POST again that may have arrived', async () => {
    for (const act of [503, 'reset', 'stall'] as const) {
      const clock = fakeClock()
      const server = await serve(act)
      const resilient = createFetch({ clock, retry: immediate, timeout: { attempt: 200 } })
      const end = resilient(server.url, { method: 'POST', body: 'pay' }).then(
        ({ status }) => status,
        () => 'failed',
      )
      await until(() => server.seen.length === 1)
      if (act === 'stall') await clock.advance(200)
      expect(await end).toBe(act === 503 ? 503 : 'failed')
      expect(server.seen).toHaveLength(1)
    }
  })

  it('retries a POST whose connection was refused', async () => {
    const post = createFetch({ retry: immediate })(await nobody(), { method: 'POST', body: 'pay' })
    const error: unknown = await post.catch((thrown) => thrown)
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })

  it('does not retry a POST that was redirected to an unreachable host', async () => {
    const gone = await nobody()
    const server = await serve({ status: 303, headers: { location: gone } })
    await expect(
      createFetch({ retry: immediate })(server.url, { method: 'POST', body: 'pay' }),
    ).rejects.toThrow()
    expect(server.seen).toHaveLength(1)
  })

  it.each([
    ['another address at the same port', { code: 'ECONNREFUSED', address: '127.0.0.2', port: 80 }, 1],
    ['another name', { code: 'ENOTFOUND', hostname: 'b.example' }, 1],
    ['another port', { code: 'ECONNREFUSED', address: '127.0.0.1', port: 81 }, 1],
    ['another name in time', timedOut('address: 127.0.0.2:80, timeout: 10ms'), 1],
    ['the place itself', { code: 'ECONNREFUSED', address: '127.0.0.1', port: 80 }, 3],
    ['the place itself in time', timedOut('address: 127.0.0.1:80, timeout: 10ms'), 3],
    ['its address in time', timedOut('addresses: 127.0.0.1:80, 127.0.0.3:80, timeout: 10ms'), 3],
  ])('treats a POST as redirected when the error is about %s of another host', async (_, cause, sent) => {
    let calls = 0
    const post = createFetch({
      retry: { ...immediate, maxAttempts: 3 },
      fetch: async () => {
        calls++
        throw new TypeError('fetch failed', { cause: Object.assign(new Error('no connection'), cause) })
      },
    })
    await expect(post('http://127.0.0.1/pay', { method: 'POST', body: 'pay' })).rejects.toThrow(
      'fetch failed',
    )
    expect(calls).toBe(sent)
  })

  it('does not hedge a POST', async () => {
    const clock = fakeClock()
    const calls: string[] = []
    const resilient = createFetch({
      clock,
      hedge: { delay: 10 },
      fetch: async (_, init) => {
        calls.push(init?.method ?? 'GET')
        await new Promise<void>((resolve) => clock.setTimer(resolve, 100))
        return new Response('late')
      },
    })
    const both = Promise.all([
      resilient('http://a.example', { method: 'POST' }),
      resilient('http://a.example'),
    ])
    await clock.advance(100)
    await both
    expect(calls.sort()).toEqual(['GET', 'GET', 'POST'])
  })
})

describe('an idempotency key', () => {
  it('is a UUID that is the same for all attempts and differs between requests', async () => {
    const server = await serve(503, 503, 200, 503)
    const resilient = createFetch({ retry: { ...immediate, idempotencyKey: true } })
    await resilient(server.url, { method: 'POST', body: 'a', headers: { 'x-a': 'b' } })
    await resilient(server.url, { method: 'PATCH', body: 'a' })
    const keys = server.seen.map(({ headers }) => String(headers['idempotency-key']))
    expect(keys).toHaveLength(5)
    expect(new Set(keys.slice(0, 3)).size).toBe(1)
    expect(new Set(keys).size).toBe(2)
    for (const key of keys)
      expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(server.seen[0]?.headers['x-a']).toBe('b')
  })

  it('in the headers of a Request is recognized', async () => {
    const server = await serve(503)
    const request = new Request(server.url, {
      method: 'POST',
      body: 'a',
      headers: { 'Idempotency-Key': 'k' },
    })
    expect((await createFetch({ retry: immediate })(request)).status).toBe(200)
    expect(server.seen.map(({ body }) => body)).toEqual(['a', 'a'])
  })
})

describe('wasNotSent', () => {
  const url = new URL('http://a.example:81/x')

  it.each([
    ['a refused connection', failed('ECONNREFUSED', { port: 81 }), true],
    ['no such name', failed('ENOTFOUND', { hostname: 'a.example' }), true],
    ['a connect that the system timed out', failed('ETIMEDOUT', { syscall: 'connect' }), true],
    ['a timeout on a connection', failed('ETIMEDOUT', { syscall: 'read' }), false],
    ['a reset', failed('ECONNRESET'), false],
    ['another port', failed('ECONNREFUSED', { port: 82 }), false],
    ['another name', failed('ENOTFOUND', { hostname: 'b.example' }), false],
    ['nothing known', new Error('?'), false],
    ['no error', undefined, false],
    ['all addresses refused', new AggregateError([failed('ECONNREFUSED'), failed('ECONNREFUSED')]), true],
    ['one address reset', new AggregateError([failed('ECONNREFUSED'), failed('ECONNRESET')]), false],
    [
      'a connect timeout elsewhere',
      Object.assign(new Error('Connect Timeout Error (attempted address: b.example:443, timeout: 10ms)'), {
        code: 'UND_ERR_CONNECT_TIMEOUT',
      }),
      false,
    ],
  ])('returns for %s: %s', (_, error, expected) => {
    expect(wasNotSent(error, url)).toBe(expected)
  })

  it('returns for a circular chain of causes', () => {
    const error: { cause?: unknown } = {}
    error.cause = error
    expect(wasNotSent(error, url)).toBe(false)
  })
})
