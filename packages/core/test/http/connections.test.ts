import { Readable } from 'node:stream'
import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { discardBody, MAX_DRAIN_MS } from '../../src/http/discard.js'
import { createFetch, type FetchFunction } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { immediate, serve, until } from './server.js'

/** A fetch with its own connections. */
function withAgent(): FetchFunction {
  const dispatcher = new Agent()
  onTestFinished(() => dispatcher.destroy())
  return (input, init) => undiciFetch(input as string, { ...init, dispatcher } as object) as never
}

describe('unused responses', () => {
  it.each([1, 1000, 60_000])('release their connection for reuse: %d bytes', async (size) => {
    const body = 'x'.repeat(size)
    const server = await serve(...Array(8).fill({ status: 503, body }))
    const resilient = createFetch({ fetch: withAgent(), retry: { ...immediate, maxAttempts: 9 } })
    const response = await resilient(server.url)
    expect([response.status, server.seen.length, server.connections]).toEqual([200, 9, 1])
  })

  it('are cancelled when they are long', async () => {
    let closed = false
    const server = await serve(({ socket }, response) => {
      socket.on('close', () => (closed = true))
      response.writeHead(503).end('x'.repeat(10_000_000))
    })
    const resilient = createFetch({ fetch: withAgent(), retry: immediate })
    expect((await resilient(server.url)).status).toBe(200)
    await until(() => closed)
  })

  it.each([
    ['with a Content-Length above 64 kB, of which nothing is read', { 'content-length': '10000000' }, 0],
    ['without a Content-Length, of which 64 kB are read', undefined, 65_536],
  ])('are read up to 64 kB: a body %s', async (_, headers, readBytes) => {
    const CHUNK_BYTES = 16_384
    let sent = 0
    let isCancelled = false
    const body = new ReadableStream({
      pull(controller) {
        sent += CHUNK_BYTES
        controller.enqueue(new Uint8Array(CHUNK_BYTES))
        if (sent >= 10_000_000) controller.close()
      },
      cancel: () => void (isCancelled = true),
    })
    const answers = [new Response(body, { status: 503, ...(headers && { headers }) }), new Response('ok')]
    // On this clock no time passes, so the limit of the time does not end the body.
    const resilient = createFetch({
      clock: fakeClock(),
      retry: immediate,
      fetch: async () => answers.shift() as Response,
    })
    expect((await resilient('http://a.example')).status).toBe(200)
    expect(isCancelled).toBe(true)
    // The stream prepares one chunk in advance.
    expect(sent).toBeLessThanOrEqual(readBytes + CHUNK_BYTES)
  })

  it('are cancelled when they do not arrive in time', async () => {
    const clock = fakeClock()
    let closed = false
    const server = await serve(({ socket }, response) => {
      socket.on('close', () => (closed = true))
      response.writeHead(503, { 'content-length': '100' }).write('half')
    })
    const resilient = createFetch({ clock, fetch: withAgent(), retry: immediate })
    let status = 0
    void resilient(server.url).then((response) => (status = response.status))
    // The clock moves until the drain has started and timed out.
    while (status === 0) await clock.advance(100)
    expect(status).toBe(200)
    await until(() => closed)
  })

  it('are discarded when the last attempt throws an error', async () => {
    let cancelled = false
    const body = new ReadableStream({ cancel: () => void (cancelled = true) })
    const answers = [new Response(body, { status: 503, headers: { 'content-length': '999999' } })]
    const resilient = createFetch({
      retry: { ...immediate, maxAttempts: 2 },
      fetch: async () => answers.shift() ?? Promise.reject(new TypeError('fetch failed')),
    })
    await expect(resilient('http://a.example')).rejects.toThrow('fetch failed')
    expect(cancelled).toBe(true)
  })

  it('are discarded when they arrive after the deadline', async () => {
    const clock = fakeClock()
    let cancelled = false
    let answer: (response: Response) => void = () => {}
    const resilient = createFetch({
      clock,
      retry: false,
      timeout: { attempt: 10 },
      fetch: () => new Promise((resolve) => (answer = resolve)), // This fetch ignores its signal.
    })
    const end = resilient('http://a.example').catch((e: unknown) => e)
    await clock.advance(10)
    expect(await end).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    answer(new Response(new ReadableStream({ cancel: () => void (cancelled = true) })))
    await clock.advance(MAX_DRAIN_MS)
    expect(cancelled).toBe(true)
  })

  it('are not touched when they have another reader', async () => {
    const response = new Response('mine')
    const reader = response.body?.getReader()
    await discardBody(response, fakeClock())
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('mine')
    await discardBody(new Response(null), fakeClock())
  })

  it('leave no timer running', async () => {
    const clock = fakeClock()
    const timers = new Set<unknown>()
    const watched = {
      ...clock,
      setTimer: (fn: () => void, ms: number) => {
        const handle = clock.setTimer(fn, ms)
        timers.add(handle)
        return handle
      },
      clearTimer: (handle: unknown) => {
        timers.delete(handle)
        clock.clearTimer(handle)
      },
    }
    await discardBody(new Response('x'), watched)
    await discardBody(
      new Response(new ReadableStream({ start: (c) => c.error(new Error('broke')) })),
      watched,
    )
    expect(timers.size).toBe(0)
  })
})

describe('a custom fetch', () => {
  it('can return Node.js streams and incomplete responses', async () => {
    const unread = Readable.from(['down'])
    const answers = [{ status: 503, body: unread }, { status: 503 }, { status: 200, id: 7 }]
    const resilient = createFetch({
      retry: immediate,
      timeout: { attempt: 1000 },
      fetch: async () => answers.shift() as never,
    })
    const { signal } = new AbortController()
    expect(await resilient('http://a.example', { signal })).toEqual({ status: 200, id: 7 })
    await until(() => unread.readableEnded)
  })
})

describe('the returned response', () => {
  it('streams as it arrives', async () => {
    let go = () => {}
    const server = await serve((_, response) => {
      response.write('one ')
      go = () => response.end('two')
    })
    const { body } = await createFetch({ retry: immediate })(server.url)
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('one ')
    go()
    expect((await reader?.read())?.value).toBe('two')
  })

  it('is complete when the breaker opened before the retry', async () => {
    const clock = fakeClock()
    const server = await serve({ status: 503, body: 'down' })
    const resilient = createFetch({ clock, breaker: { failureThreshold: 2 } })
    let scheduled = false
    resilient.on(({ type }) => (scheduled ||= type === 'retry_scheduled'))
    const response = resilient(server.url)
    await until(() => scheduled)
    await createFetch({ clock, retry: false })(server.url)
    server.acts.push(500)
    await resilient(server.url, { retry: false })
    await clock.advance(1000)
    expect(await (await response).text()).toBe('down')
  })
})
