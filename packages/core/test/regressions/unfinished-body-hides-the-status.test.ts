// A 429 or 503 whose body did not end before the attempt's deadline was reported as ATTEMPT_TIMEOUT.
import { Agent, request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { PEEK_TIMEOUT_MS } from '../../src/http/failure-code.js'
import { createFetch } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { resilience } from '../../src/undici/index.js'
import { fate } from '../guard/watch.js'
import { serve, until } from '../http/server.js'

/** A response whose body begins and never ends. */
function unfinished(status: number, headers: Record<string, string> = {}) {
  const body = { isCancelled: false, close: () => {} }
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"error":'))
      body.close = () => controller.close()
    },
    cancel() {
      body.isCancelled = true
    },
  })
  return { response: new Response(stream, { status, headers }), body }
}

const retry = { maxAttempts: 2, backoffType: 'immediate', abortOn: ['insufficient_quota'] } as const

it('an attempt that ends while the body of a 503 is read fails with the status, and is retried', async () => {
  const clock = fakeClock()
  const first = unfinished(503)
  const responses = [first.response, new Response('done')]
  const send = createFetch({
    clock,
    retry,
    timeout: { attempt: 200 },
    fetch: async () => responses.shift() as Response,
  })
  const failures: unknown[] = []
  send.on((event) => event.type === 'attempt_failed' && failures.push(event.error))
  const call = send('http://a.example')
  await clock.advance(200)
  await clock.advance(150)
  expect(await (await call).text()).toBe('done')
  expect(failures).toMatchObject([{ name: 'StatusError', status: 503 }])
  expect(first.body.isCancelled).toBe(true)
})

it('the Retry-After of a 429 with an unfinished body is respected', async () => {
  const clock = fakeClock()
  const times: number[] = []
  const responses = [unfinished(429, { 'retry-after': '7' }).response, new Response('done')]
  const send = createFetch({
    clock,
    retry,
    timeout: { attempt: 200 },
    fetch: async () => {
      times.push(clock.now())
      return responses.shift() as Response
    },
  })
  const call = send('http://a.example')
  await clock.advance(20_000)
  expect((await call).status).toBe(200)
  expect(times).toEqual([0, 7300])
})

it.each(['attempt', 'total'])(
  'the last response is returned readable after the %s deadline',
  async (which) => {
    const clock = fakeClock()
    const { response, body } = unfinished(503)
    const signals: (AbortSignal | null | undefined)[] = []
    const send = createFetch({
      clock,
      retry: { ...retry, maxAttempts: which === 'total' ? 2 : 1 },
      timeout: { [which]: 200 },
      fetch: async (_input, init) => {
        signals.push(init?.signal)
        return response
      },
    })
    const call = fate(send('http://a.example'))
    await clock.advance(200)
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'fulfilled', value: { status: 503 } })
    expect(signals.map((signal) => signal?.aborted)).toEqual([false])
    body.close()
    expect(await response.text()).toBe('{"error":')
  },
)

it('a hedged attempt ends with the status of the run that has a response', async () => {
  const clock = fakeClock()
  let calls = 0
  const send = createFetch({
    clock,
    retry: { ...retry, maxAttempts: 1 },
    hedge: { delay: 50 },
    timeout: { attempt: 200 },
    fetch: async (_input, init) => {
      if (++calls > 1) return unfinished(503).response
      return new Promise<Response>((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      )
    },
  })
  const call = fate(send('http://a.example'))
  await clock.advance(200)
  await clock.advance(0)
  expect(call).toMatchObject({ state: 'fulfilled', value: { status: 503 } })
})

it('the undici interceptor ends an attempt with the status, and the body can still be read', async () => {
  const clock = fakeClock()
  const { setTimer } = clock
  let isBodyRead = false
  clock.setTimer = (fn, ms) => {
    isBodyRead ||= ms === PEEK_TIMEOUT_MS
    return setTimer(fn, ms)
  }
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  let end = () => {}
  const server = await serve((_request, response) => {
    response.writeHead(503).write('{"error":')
    end = () => void response.end('1}')
  })
  const dispatcher = plain.compose(
    resilience({ clock, retry: { ...retry, maxAttempts: 1 }, timeout: { attempt: 200 } }),
  )
  const call = request(server.url, { dispatcher })
  await until(() => isBodyRead)
  await clock.advance(200)
  const { statusCode, body } = await call
  expect(statusCode).toBe(503)
  end()
  expect(await body.text()).toBe('{"error":1}')
})
