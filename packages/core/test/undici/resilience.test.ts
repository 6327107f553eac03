import { pipeline, Readable } from 'node:stream'
import {
  Agent,
  FormData,
  fetch,
  getGlobalDispatcher,
  interceptors,
  MockAgent,
  request,
  setGlobalDispatcher,
  stream,
} from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { type ResilienceOptions, resilience } from '../../src/undici/index.js'
import { problemsOf } from '../breaker/setup.js'
import { immediate, nobody, serve, until } from '../http/server.js'

/** An agent with its own connections and the interceptor. */
function agent(options: ResilienceOptions = { retry: immediate }) {
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  return plain.compose(resilience(options))
}

/** Both ways to use a dispatcher, with the same interface. */
const ways = {
  'request()': async (url: string, options: object) => {
    const { statusCode, headers, body } = await request(url, options)
    return { status: statusCode, text: () => body.text(), header: (name: string) => headers[name] }
  },
  'fetch()': async (url: string, options: object) => {
    const { status, headers, ...rest } = await fetch(url, options).then((response) => ({
      status: response.status,
      headers: response.headers,
      text: () => response.text(),
    }))
    return { status, ...rest, header: (name: string) => headers.get(name) ?? undefined }
  },
}

describe.each(Object.entries(ways))('the interceptor under %s', (way, send) => {
  it('returns the response unchanged', async () => {
    const server = await serve({ status: 201, headers: { 'x-a': 'b' }, body: 'hello' })
    const { status, text, header } = await send(server.url, { dispatcher: agent() })
    expect([status, header('x-a'), await text()]).toEqual([201, 'b', 'hello'])
  })

  it.each([408, 429, 500, 502, 503])('retries after %d', async (status) => {
    const server = await serve(status, status)
    expect((await send(server.url, { dispatcher: agent() })).status).toBe(200)
    expect(server.seen).toHaveLength(3)
  })

  it('retries after a reset connection', async () => {
    const server = await serve('reset', 'reset')
    expect((await send(server.url, { dispatcher: agent() })).status).toBe(200)
    expect(server.seen).toHaveLength(3)
  })

  it('retries when the headers do not arrive in time', async () => {
    const clock = fakeClock()
    const server = await serve('stall')
    const dispatcher = agent({ clock, retry: immediate, timeout: { attempt: 100 } })
    const answer = send(server.url, { dispatcher })
    await until(() => server.seen.length === 1)
    await clock.advance(100)
    expect((await answer).status).toBe(200)
  })

  it('returns the last response completely', async () => {
    const server = await serve(503, 503, { status: 503, body: 'down' })
    const { status, text } = await send(server.url, { dispatcher: agent() })
    expect([status, await text(), server.seen.length]).toEqual([503, 'down', 3])
  })

  it('drops a failed response with more than 64 kB instead of reading it', async () => {
    const TOTAL_BYTES = 64 * 1024 * 1024
    const chunk = Buffer.alloc(65_536)
    let sent = 0
    function* chunks() {
      for (; sent < TOTAL_BYTES; sent += chunk.length) yield chunk
    }
    const server = await serve((_request, response) => {
      response.writeHead(503)
      pipeline(Readable.from(chunks()), response, () => {})
    })
    // On this clock no time passes, so the limit of the time does not end the response.
    const dispatcher = agent({ clock: fakeClock(), retry: immediate })
    expect((await send(server.url, { dispatcher })).status).toBe(200)
    expect(sent).toBeLessThan(TOTAL_BYTES)
  })

  it('drops a failed response that does not end in time', async () => {
    const clock = fakeClock()
    let isClosed = false
    const server = await serve(({ socket }, response) => {
      socket.on('close', () => (isClosed = true))
      response.writeHead(503, { 'content-length': '100' }).write('half')
    })
    let status = 0
    void send(server.url, { dispatcher: agent({ clock, retry: immediate }) }).then(
      (response) => (status = response.status),
    )
    // The clock moves until the response is read and its time is over.
    while (status === 0) await clock.advance(100)
    expect(status).toBe(200)
    await until(() => isClosed)
  })

  it('reuses connections', async () => {
    const server = await serve(...Array(8).fill({ status: 503, body: 'x'.repeat(1000) }))
    const dispatcher = agent({ retry: { ...immediate, maxAttempts: 9 } })
    expect((await send(server.url, { dispatcher })).status).toBe(200)
    expect([server.seen.length, server.connections]).toEqual([9, 1])
  })

  it('returns a body of many chunks completely', async () => {
    const whole = 'x'.repeat(5_000_000)
    const server = await serve(503, { status: 200, body: whole })
    const { text } = await send(server.url, { dispatcher: agent() })
    expect(await text()).toBe(whole)
  })

  it('does not retry after the response was forwarded', async () => {
    const server = await serve('truncate')
    const { text } = await send(server.url, { dispatcher: agent() })
    await expect(text()).rejects.toThrow()
    expect(server.seen).toHaveLength(1)
  })

  it('retries a POST only after a refused connection', async () => {
    for (const act of [503, 'reset'] as const) {
      const server = await serve(act)
      await send(server.url, { dispatcher: agent(), method: 'POST', body: 'pay' }).catch(() => {})
      expect(server.seen.map(({ body }) => body)).toEqual(['pay'])
    }
    let refused = 0
    const intercept = resilience({ retry: immediate })
    intercept.on(({ type }) => (refused += type === 'attempt_failed' ? 1 : 0))
    const dispatcher = new Agent().compose(intercept)
    await expect(send(await nobody(), { dispatcher, method: 'POST', body: 'pay' })).rejects.toThrow()
    expect(refused).toBe(3)
  })

  it('retries a POST with a key, with the same key, if its body can be sent again', async () => {
    const server = await serve(503, 503)
    const dispatcher = agent({ retry: { ...immediate, idempotencyKey: true } })
    const { status } = await send(server.url, { dispatcher, method: 'POST', headers: { 'x-a': 'b' } })
    expect(status).toBe(200)
    const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size, server.seen[2]?.headers['x-a']]).toEqual([3, 1, 'b'])
  })

  it('can be aborted in an attempt, in a delay and during the reading of the body', async () => {
    for (const act of ['stall', 503, 'body'] as const) {
      const clock = fakeClock()
      const controller = new AbortController()
      const server = await serve(act === 'body' ? (_, response) => void response.write('begun') : act)
      const intercept = resilience({ clock })
      let waits = false
      intercept.on(({ type }) => (waits ||= type === 'retry_scheduled'))
      const plain = new Agent()
      onTestFinished(() => plain.destroy())
      const dispatcher = plain.compose(intercept)
      const answer = send(server.url, { dispatcher, signal: controller.signal })
      const end = answer.then(({ text }) => text()).catch((e: unknown) => e)
      await until(() => server.seen.length === 1 && (act !== 503 || waits))
      if (act === 'body') await answer
      controller.abort(new Error('enough'))
      expect(await end).toMatchObject({ message: 'enough' })
      await clock.advance(100_000)
      expect(server.seen).toHaveLength(1)
    }
  })

  it('reports a rejection as an error', async () => {
    const dispatcher = agent({ retry: false, breaker: { failureThreshold: 1 } })
    const server = await serve(500)
    expect((await send(server.url, { dispatcher })).status).toBe(500)
    const error = await send(server.url, { dispatcher }).catch((e: unknown) => e)
    expect(way === 'fetch()' ? (error as Error).cause : error).toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('returns no body for HEAD and 204', async () => {
    const server = await serve(503, 204, 503)
    const dispatcher = agent()
    const { status, text } = await send(server.url, { dispatcher })
    expect([status, await text()]).toEqual([204, ''])
    expect((await send(server.url, { dispatcher, method: 'HEAD' })).status).toBe(200)
  })

  it('returns its own response to each of many concurrent requests', async () => {
    const server = await serve(...Array(20).fill(503))
    const dispatcher = agent({ retry: { ...immediate, maxAttempts: 50 } })
    const texts = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => (await send(`${server.url}/${i}`, { dispatcher })).text()),
    )
    expect(texts).toEqual(Array.from({ length: 50 }, (_, i) => `GET /${i}`))
  })
})

describe('request bodies in the interceptor', () => {
  it('are sent again if they can be read repeatedly', async () => {
    const server = await serve()
    for (const body of ['payload', Buffer.from('payload')]) {
      server.acts.push(503, 'reset')
      const { statusCode } = await request(server.url, { dispatcher: agent(), method: 'PUT', body })
      expect(statusCode).toBe(200)
    }
    expect(new Set(server.seen.map(({ body }) => body))).toEqual(new Set(['payload']))
    const form = new FormData()
    form.append('a', 'b')
    server.acts.push(503)
    await request(server.url, { dispatcher: agent(), method: 'PUT', body: form })
    expect(server.seen.at(-1)?.body).toContain('name="a"')
  })

  it.each([
    ['a Readable', () => Readable.from([Buffer.from('pay'), Buffer.from('load')])],
    [
      'a generator',
      async function* () {
        yield 'pay'
        yield 'load'
      },
    ],
  ])('that are streams (%s) are sent again only before they were read', async (_, make) => {
    const server = await serve(503)
    const send = (origin: string, dispatcher: Agent) =>
      request(origin, { dispatcher, method: 'PUT', body: make() as never })
    expect((await send(server.url, agent() as Agent)).statusCode).toBe(503)
    expect(server.seen.map(({ body }) => body)).toEqual(['payload'])

    const gone = await nobody()
    const pool = new Pool({
      id: 'p',
      members: [
        { id: 'gone', value: { origin: gone } },
        { id: 'there', value: { origin: server.url } },
      ],
    })
    expect((await send(gone, agent({ pool, retry: immediate }) as Agent)).statusCode).toBe(200)
    expect(server.seen.map(({ body }) => body)).toEqual(['payload', 'payload'])
  })
})

describe('a body of known length that is an async iterable', () => {
  /** Reads a number of chunks of the body and fails, or reads the whole body and responds. */
  const reader = (pieces: number) => {
    const read: string[][] = []
    const dispatch = (options: { body: AsyncIterable<string> }, handler: never): boolean => {
      const { onRequestStart, onResponseStart, onResponseEnd, onResponseError } = bound(handler)
      const controller = { abort() {}, pause() {}, resume() {}, rawHeaders: [] }
      onRequestStart(controller, {})
      const go = async () => {
        const own: string[] = []
        read.push(own)
        for await (const piece of options.body) {
          own.push(String(piece))
          if (read.length === 1 && own.length === pieces) break
        }
        if (read.length === 1)
          onResponseError(controller, Object.assign(new Error('lost'), { code: 'ECONNRESET' }))
        else {
          onResponseStart(controller, 200, {}, 'OK')
          onResponseEnd(controller, {})
        }
      }
      void go()
      return true
    }
    return { read, dispatch }
  }

  type Told = (...args: unknown[]) => void
  const bound = (handler: never) => {
    const told = handler as Record<string, Told>
    const names = ['onRequestStart', 'onResponseStart', 'onResponseEnd', 'onResponseError'] as const
    return Object.fromEntries(names.map((name) => [name, told[name]?.bind(told)])) as Record<
      (typeof names)[number],
      Told
    >
  }

  const put = (dispatch: unknown, length: number) =>
    new Promise<unknown>((resolve) => {
      const body = (async function* () {
        yield 'pay'
        yield 'load'
      })()
      const request = { origin: 'http://a.example', path: '/', method: 'PUT', body }
      const headers = length < 0 ? [] : ['Content-Length', String(length)]
      resilience({ retry: immediate })(dispatch as (options: never, handler: never) => boolean)(
        { ...request, headers } as never,
        {
          onRequestStart() {},
          onResponseStart: (_: unknown, status: number) => resolve(status),
          onResponseError: (_: unknown, error: Error) => resolve(error.message),
        } as never,
      )
    })

  it('is sent again after it was read completely', async () => {
    const { read, dispatch } = reader(3)
    expect(await put(dispatch, 7)).toBe(200)
    expect(read).toEqual([
      ['pay', 'load'],
      ['pay', 'load'],
    ])
  })

  it.each([
    ['of which a part was read', 1, 7],
    ['that is longer than it says', 3, 6],
    ['that is too long to be kept', 3, 2 ** 20 + 1],
    ['of an unknown length', 3, -1],
  ])('is not sent again when it is one %s', async (_, pieces, length) => {
    const { read, dispatch } = reader(pieces)
    expect(await put(dispatch, length)).toBe('lost')
    expect(read).toHaveLength(1)
  })
})

describe('the interceptor for undici', () => {
  it('protects code that cannot be changed', async () => {
    const before = getGlobalDispatcher()
    const plain = new Agent()
    onTestFinished(async () => {
      setGlobalDispatcher(before)
      await plain.destroy()
    })
    setGlobalDispatcher(plain.compose(resilience({ retry: immediate })))
    const server = await serve(503, 'reset', 200, 'reset')
    // The fetch of the platform uses another copy of undici.
    expect((await globalThis.fetch(server.url)).status).toBe(200)
    expect((await globalThis.fetch(server.url)).status).toBe(200)
    expect(server.seen).toHaveLength(5)
  })

  it('works together with other interceptors', async () => {
    const server = await serve(503, { status: 302, headers: { location: '/there' } }, 503)
    const plain = new Agent()
    onTestFinished(() => plain.destroy())
    const inner = plain.compose(
      interceptors.redirect({ maxRedirections: 3 }),
      resilience({ retry: immediate }),
    )
    const answer = await request(`${server.url}/here`, { dispatcher: inner })
    expect([answer.statusCode, server.seen.map(({ url }) => url)]).toEqual([
      200,
      ['/here', '/here', '/there', '/here'],
    ])
    const { history } = answer.context as { history: URL[] }
    expect(history.length).toBeGreaterThan(0)
    await answer.body.dump()

    server.acts.push(503, { status: 302, headers: { location: '/there' } }, 503)
    const outer = plain.compose(
      resilience({ retry: immediate }),
      interceptors.redirect({ maxRedirections: 3 }),
    )
    expect((await request(`${server.url}/here`, { dispatcher: outer })).statusCode).toBe(200)
    expect(server.seen.slice(4).map(({ url }) => url)).toEqual(['/here', '/here', '/there', '/there'])
  })

  it('works with a mock agent', async () => {
    const mock = new MockAgent()
    mock.disableNetConnect()
    const intercepted = mock.get('http://a.example')
    intercepted.intercept({ path: '/' }).reply(503)
    intercepted.intercept({ path: '/' }).reply(200, 'mocked')
    const { body } = await request('http://a.example', {
      dispatcher: mock.compose(resilience({ retry: immediate })),
    })
    expect(await body.text()).toBe('mocked')
  })

  it('works with stream()', async () => {
    const server = await serve(503, { status: 200, body: 'streamed' })
    let text = ''
    const { Writable } = await import('node:stream')
    await stream(
      server.url,
      { dispatcher: agent(), method: 'GET' },
      () =>
        new Writable({
          write(chunk: Buffer, _, done) {
            text += chunk.toString()
            done()
          },
        }),
    )
    expect(text).toBe('streamed')
  })

  it('sends through the dispatcher of a member', async () => {
    const server = await serve()
    const used: string[] = []
    const own = agent({}).compose((dispatch) => (options, handler) => {
      used.push(options.path)
      return dispatch(options, handler)
    })
    const pool = new Pool<{ dispatcher: object }>({
      id: 'p',
      members: [{ id: 'a', value: { dispatcher: own } }],
    })
    expect((await request(`${server.url}/x`, { dispatcher: agent({ pool }) })).statusCode).toBe(200)
    expect(used).toEqual(['/x'])
  })

  it('does not intercept upgrades, and nothing when it is disabled', async () => {
    const seen: unknown[] = []
    const dispatch = resilience()((options: object, handler: object) => seen.push([options, handler]) > 0)
    const options = { path: '/', method: 'GET', upgrade: 'websocket' }
    const handler = {}
    expect(dispatch(options, handler)).toBe(true)
    const off = resilience({ enabled: false })((given: object, same: object) => seen.push([given, same]) > 0)
    off({ path: '/', method: 'GET' }, handler)
    dispatch({ path: 'a:1', method: 'CONNECT' } as never, handler)
    expect(seen.map((one) => (one as unknown[])[1])).toEqual([handler, handler, handler])
  })

  it('rejects invalid options with all problems', () => {
    const wrong = problemsOf(() =>
      resilience({ fallback: () => 1, retry: { retryStatusCodes: [1] } } as never),
    )
    expect(wrong.map((problem) => problem.split(':')[0])).toEqual(['fallback', 'retry.retryStatusCodes'])
    expect(problemsOf(() => resilience(7 as never))).toHaveLength(1)
  })
})
