import { Readable } from 'node:stream'
import { Holdfast } from '@holdfast/runtime'
import axios, { AxiosError, type AxiosInstance, type AxiosRequestConfig, type AxiosResponse } from 'axios'
import axiosRetry from 'axios-retry'
import { type GuardOptions, guard, sessionOf } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAxiosAdapter } from '../src/axios/index.js'
import { startHttpServer, type TestServer } from './http-server.js'
import { skipDelays } from './retry-clock.js'

const IMMEDIATE = { backoffType: 'immediate', maxAttempts: 3 } as const
const hang = (): void => {}

let server: TestServer
beforeAll(async () => {
  server = await startHttpServer()
})
afterAll(() => server.close())

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

/** A client whose requests a guard with immediate retries runs. */
const createClient = (options: GuardOptions = {}, adapterOptions = {}): AxiosInstance =>
  axios.create({
    baseURL: server.url,
    adapter: createAxiosAdapter(axios, guard({ retry: IMMEDIATE, ...options }), adapterOptions),
  })

describe('requests that are retried', () => {
  it('a GET is sent again after a status of 503 until it succeeds', async () => {
    const path = server.script([503, 503, { status: 200, body: '{"id":42}' }])
    const { status, data, config } = await createClient().get(path)
    expect([status, data]).toEqual([200, { id: 42 }])
    expect(config.signal).toBeUndefined()
    expect(server.requests(path)).toHaveLength(3)
  })

  it('the error of the last attempt is thrown, and has the session', async () => {
    const path = server.script([503, 500, { status: 502, body: '{"reason":"down"}' }])
    const error = await caught(createClient({ name: 'orders' }).get(path))
    expect(error).toBeInstanceOf(AxiosError)
    expect((error as AxiosError).response).toMatchObject({ status: 502, data: { reason: 'down' } })
    expect((error as AxiosError).config?.signal).toBeUndefined()
    expect(sessionOf(error)).toMatchObject({ operation: 'orders', stopped: 'attempts_spent' })
    expect(sessionOf(error)?.attempts.map(({ statusCode }) => statusCode)).toEqual([503, 500, 502])
  })

  it('a status of 404 is not retried', async () => {
    const path = server.script([404])
    const error = await caught(createClient().get(path))
    expect(sessionOf(error)).toMatchObject({ stopped: 'not_retryable' })
    expect(server.requests(path)).toHaveLength(1)
  })

  it('a lost connection is retried', async () => {
    const path = server.script([(request) => request.socket.destroy(), 200])
    expect((await createClient().get(path)).status).toBe(200)
  })

  it('the timeout of axios limits each attempt', async () => {
    const path = server.script([hang])
    // The timeout is real time. No attempt gets a response, so that the result does not depend on the speed of the machine.
    const error = await caught(createClient().get(path, { timeout: 20 }))
    expect(error).toMatchObject({ code: 'ECONNABORTED' })
    expect(sessionOf(error)?.attempts.map(({ outcome }) => outcome)).toEqual([
      'timeout',
      'timeout',
      'timeout',
    ])
  })

  it('Retry-After replaces the delay', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: { maxAttempts: 3 } })
    const delays = skipDelays(api, clock)
    const path = server.script([{ status: 429, headers: { 'retry-after': '7' } }, 503, 200])
    const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
    expect((await client.get(server.url + path)).status).toBe(200)
    expect(delays).toEqual([7000, 2000])
  })

  it('validateStatus decides which statuses are failures', async () => {
    const path = server.script([503, 200])
    const { status } = await createClient().get(path, { validateStatus: () => true })
    expect(status).toBe(503)
  })

  it('the adapter of fetch sends the attempts where it is chosen', async () => {
    const path = server.script([503, 200])
    expect((await createClient({}, { adapter: 'fetch' }).get(path)).status).toBe(200)
    const failing = server.script([503])
    const error = await caught(createClient({}, { adapter: 'fetch' }).get(failing))
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })

  it('request interceptors and transformations run once', async () => {
    const path = server.script([503, 200])
    const client = createClient()
    let interceptions = 0
    client.interceptors.request.use((config) => {
      interceptions++
      return config
    })
    await client.put(path, { id: 1 })
    expect(interceptions).toBe(1)
    expect(server.requests(path).map(({ body }) => body)).toEqual(['{"id":1}', '{"id":1}'])
  })

  it('a form is sent again with the same fields', async () => {
    const path = server.script([503, 200])
    const form = new FormData()
    form.set('name', 'Ann')
    await createClient().put(path, form)
    const bodies = server.requests(path).map(({ body }) => /name="name"\s+Ann/.test(body))
    expect(bodies).toEqual([true, true])
  })
})

describe('requests that are not idempotent', () => {
  const attempts = async (method: string, config: AxiosRequestConfig = {}, adapterOptions = {}) => {
    const path = server.script([503, 200])
    await caught(createClient({}, adapterOptions).request({ method, url: path, data: { id: 1 }, ...config }))
    return server.requests(path)
  }

  it.each([
    ['get', 2],
    ['put', 2],
    ['delete', 2],
    ['post', 1],
    ['patch', 1],
  ])('%s is sent %i times', async (method, count) => {
    expect(await attempts(method)).toHaveLength(count)
  })

  it('a POST with an Idempotency-Key is retried', async () => {
    expect(await attempts('post', { headers: { 'Idempotency-Key': 'a' } })).toHaveLength(2)
  })

  it('a POST is retried with retryNonIdempotent', async () => {
    expect(await attempts('post', {}, { retryNonIdempotent: true })).toHaveLength(2)
  })

  it('the option idempotencyKey adds one key for all attempts', async () => {
    const requests = await attempts('post', {}, { idempotencyKey: true })
    const keys = requests.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(keys).size).toBe(1)
  })

  it('a POST whose connection was refused is retried, because it was not sent', async () => {
    const error = await caught(createClient().post('http://127.0.0.1:1/orders', { id: 1 }))
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })

  it('a POST is not sent again after the timeout of its attempt, a GET is', async () => {
    const outcomes = []
    for (const method of ['post', 'get']) {
      const clock = fakeClock()
      const path = server.script([hang, 200])
      const call = caught(createClient({ clock, timeout: { attempt: 1000 } }).request({ method, url: path }))
      await server.received(path, 1)
      await clock.advance(1000)
      outcomes.push(await call)
    }
    expect(outcomes).toMatchObject([{ code: 'ATTEMPT_TIMEOUT' }, { status: 200 }])
    expect(sessionOf(outcomes[0])).toMatchObject({
      stopped: 'not_retryable',
      attempts: [{ outcome: 'timeout' }],
    })
  })

  it('a POST is not hedged, a GET is', async () => {
    const counts = []
    for (const method of ['post', 'get']) {
      const clock = fakeClock()
      let respond = hang
      const path = server.script([(_, response) => void (respond = () => response.end()), 200])
      const call = createClient({ clock, retry: false, hedge: { delay: 10 } }).request({ method, url: path })
      await server.received(path, 1)
      await clock.advance(10)
      if (method === 'post') respond()
      await call
      counts.push(server.requests(path).length)
    }
    expect(counts).toEqual([1, 2])
  })

  it('a body that is a stream is never sent again', async () => {
    const path = server.script([503, 200])
    const error = await caught(createClient().put(path, Readable.from(['order 42'])))
    expect(sessionOf(error)).toMatchObject({ stopped: 'not_retryable' })
    expect(server.requests(path).map(({ body }) => body)).toEqual(['order 42'])
  })
})

describe('the other strategies of the guard', () => {
  it('an open breaker rejects a request without sending it', async () => {
    const path = server.script([503])
    const client = createClient({ retry: false, breaker: { failureThreshold: 2 } })
    await caught(client.get(path))
    await caught(client.get(path))
    expect(await caught(client.get(path))).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(server.requests(path)).toHaveLength(2)
  })

  it('the fallback responds in place of an error', async () => {
    const path = server.script([503])
    const response = { data: 'cached', status: 200, statusText: 'OK', headers: {}, config: {} as never }
    const api = guard({ retry: false, fallback: () => response })
    const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
    expect((await client.get(server.url + path)).data).toBe('cached')
  })

  it('the context of the call has method, origin and URL without query values', async () => {
    const path = server.script([503])
    const contexts: unknown[] = []
    const api = guard({ retry: false })
    api.on(
      ({ type, ...event }) => type === 'gave_up' && contexts.push((event as { context?: unknown }).context),
    )
    const client = axios.create({ baseURL: server.url, adapter: createAxiosAdapter(axios, api) })
    await caught(client.get(path, { params: { token: 'secret' } }))
    const url = `${server.url}${path}?token=[redacted]`
    expect(contexts).toEqual([{ method: 'GET', origin: server.url, url }])
  })

  it('callOptions change one request', async () => {
    const path = server.script([503, 200])
    const callOptions = ({ url }: { url?: string }) => (url === path ? { retry: false as const } : undefined)
    expect(await caught(createClient({}, { callOptions }).get(path))).toMatchObject({ status: 503 })
  })

  it('unknown and wrong options are rejected together', () => {
    const options = { retryNonIdempotent: 1, retries: 2 } as never
    expect(() => createAxiosAdapter(axios, guard(), options)).toThrow(
      /retryNonIdempotent.*a boolean.*retries.*an unknown option/,
    )
  })
})

describe('a request that is aborted', () => {
  it('ends with the error of axios while it is sent, and closes the connection', async () => {
    let path = ''
    const closed = new Promise<void>((resolve) => {
      path = server.script([(request) => void request.socket.once('close', resolve)])
    })
    const controller = new AbortController()
    const call = caught(createClient().get(path, { signal: controller.signal }))
    await server.received(path, 1)
    controller.abort()
    expect(axios.isCancel(await call)).toBe(true)
    await closed
    expect(server.requests(path)).toHaveLength(1)
  })

  it.each(['signal', 'cancelToken'])('ends during the delay of a retry: %s', async (kind) => {
    const controller = new AbortController()
    const source = axios.CancelToken.source()
    const clock = fakeClock()
    const api = guard({ clock })
    api.on(({ type }) => {
      if (type !== 'retry_scheduled') return
      if (kind === 'signal') controller.abort()
      else source.cancel('stopped')
    })
    const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
    const path = server.script([503])
    const cancel = kind === 'signal' ? { signal: controller.signal } : { cancelToken: source.token }
    expect(axios.isCancel(await caught(client.get(server.url + path, cancel)))).toBe(true)
    expect(server.requests(path)).toHaveLength(1)
  })
})

describe('responses that are streams', () => {
  it.each([
    ['http', false],
    ['http', true],
    ['fetch', false],
  ])(
    'an abort ends a response that is read: adapter %s, also with a cancel token: %s',
    async (adapter, hasToken) => {
      const path = server.script([(_, response) => void response.writeHead(200).write('first')])
      const controller = new AbortController()
      const { data } = await createClient({}, { adapter }).get(path, {
        responseType: 'stream',
        signal: controller.signal,
        ...(hasToken && { cancelToken: axios.CancelToken.source().token }),
      })
      const chunks = (data as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
      expect(Buffer.from((await chunks.next()).value).toString()).toBe('first')
      controller.abort()
      expect(axios.isCancel(await caught(chunks.next()))).toBe(true)
    },
  )

  it.each(['an abort', 'a fallback'])(
    'that of a failed attempt is closed if %s ends the call',
    async (end) => {
      const path = server.script([(_, response) => void response.writeHead(503).write('first')])
      const controller = new AbortController()
      const clock = fakeClock()
      const cached = { status: 200, data: 'cached', config: {} } as AxiosResponse
      const api =
        end === 'an abort' ? guard({ clock }) : guard<AxiosResponse>({ retry: false, fallback: () => cached })
      let failed: Readable | undefined
      api.on((event) => {
        if (event.type === 'attempt_failed')
          failed = (event as { error?: AxiosError<Readable> }).error?.response?.data
        if (event.type === 'retry_scheduled') controller.abort()
      })
      const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
      const { signal } = controller
      const result = await caught(client.get(server.url + path, { responseType: 'stream', signal }))
      expect(axios.isCancel(result) || (result as AxiosResponse).data === 'cached').toBe(true)
      expect(failed?.destroyed).toBe(true)
    },
  )

  it('that of a failed attempt can be read if a fallback returns it', async () => {
    const fallback = (error: unknown) => (error as AxiosError).response as AxiosResponse
    const api = guard<AxiosResponse>({ retry: false, fallback })
    const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
    const path = server.script([{ status: 503, body: 'first' }])
    const { data } = await client.get<Readable>(server.url + path, { responseType: 'stream' })
    expect(Buffer.concat(await data.toArray()).toString()).toBe('first')
  })

  /** An adapter whose requests fail with a stream when `failures` are called, and the streams. */
  function failingRequests() {
    const failures: (() => void)[] = []
    const streams: Readable[] = []
    const adapter = () =>
      new Promise<never>((_, reject) =>
        failures.push(() => {
          const data = new Readable({ read() {} })
          streams.push(data)
          const response = { status: 503, data, config: {} } as AxiosResponse
          reject(new AxiosError('failed', undefined, undefined, undefined, response))
        }),
      )
    const clock = fakeClock()
    const client = createClient({ clock, retry: false, hedge: { delay: 10 } }, { adapter })
    return { failures, streams, clock, client }
  }

  it('those of hedged attempts that fail are closed, except that of the error', async () => {
    const { failures, streams, client, clock } = failingRequests()
    const call = caught(client.get('/', { responseType: 'stream' }))
    await expect.poll(() => failures).toHaveLength(1)
    await clock.advance(10)
    await expect.poll(() => failures).toHaveLength(2)
    for (const fail of failures) fail()
    const { response } = (await call) as AxiosError<Readable>
    expect(streams).toHaveLength(2)
    expect(streams.filter(({ destroyed }) => !destroyed)).toEqual([response?.data])
  })

  it('that of an attempt that fails after the call has ended is closed', async () => {
    const { failures, streams, client } = failingRequests()
    const controller = new AbortController()
    const call = caught(client.get('/', { responseType: 'stream', signal: controller.signal }))
    await expect.poll(() => failures).toHaveLength(1)
    controller.abort()
    expect(axios.isCancel(await call)).toBe(true)
    failures[0]?.()
    await expect.poll(() => streams[0]?.destroyed).toBe(true)
  })

  it('those of failed attempts are closed, and the last one can be read', async () => {
    const path = server.script([
      (_, response) => void response.writeHead(503).write('first'),
      { status: 500, body: 'second' },
    ])
    const clock = fakeClock()
    const api = guard({ clock, retry: { maxAttempts: 2 } })
    skipDelays(api, clock)
    const streams: Readable[] = []
    api.on((event) => {
      if (event.type === 'attempt_failed')
        streams.push((event as { error?: AxiosError<Readable> }).error?.response?.data as Readable)
    })
    const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
    const error = await caught(client.get(server.url + path, { responseType: 'stream' }))
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, false])
    expect(
      await new Response(
        Readable.toWeb((error as AxiosError<Readable>).response?.data as Readable) as never,
      ).text(),
    ).toBe('second')
  })
})

describe('together with axios-retry', () => {
  it('attempts do not multiply', async () => {
    const path = server.script([503])
    const client = createClient()
    axiosRetry(client, { retries: 5, retryDelay: () => 0 })
    const error = await caught(client.get(path))
    expect(error).toMatchObject({ response: { status: 503 } })
    expect(server.requests(path)).toHaveLength(3)
  })
})

describe('with the runtime', () => {
  it('requests are calls of an operation: with session, metrics and dead letter', async () => {
    const policies = { api: { maxAttempts: 2, backoffType: 'immediate' } } as const
    const hf = await Holdfast.open({ config: { policies } })
    const callOptions = ({ url }: { url?: string }) => ({ payload: { url }, itemId: 'order-42' })
    const client = axios.create({
      baseURL: server.url,
      adapter: createAxiosAdapter(axios, hf.guard('api'), { callOptions }),
    })
    const path = server.script([503])
    const error = await caught(client.get(path))
    expect(error).toMatchObject({ response: { status: 503 } })
    expect(sessionOf(error)?.attempts).toHaveLength(2)
    expect((await hf.sessions.list({ operation: 'api' })).items).toMatchObject([{ success: false }])
    const { items } = await hf.deadLetters.list({ operation: 'api' })
    expect(items).toMatchObject([{ itemId: 'order-42', originalPayload: { url: path } }])
    await hf.close()
  })
})
