import { getEventListeners } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { immediate, serve, until } from './server.js'

const kinds = [
  ['without deadlines', {}],
  ['with deadlines', { timeout: { attempt: '1h', total: '2h' } }],
  ['hedged', { hedge: { delay: '1h' } }],
] as const

describe.each(kinds)('an abort signal, %s,', (_, options) => {
  it('that is already aborted sends no request', async () => {
    const server = await serve()
    const reason = new Error('changed my mind')
    await expect(createFetch(options)(server.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(server.seen).toHaveLength(0)
  })

  it('aborts an attempt and closes its connection', async () => {
    const controller = new AbortController()
    let closed = false
    const server = await serve((request) => request.socket.on('close', () => (closed = true)))
    const end = createFetch(options)(server.url, { signal: controller.signal }).catch((e: unknown) => e)
    await until(() => server.seen.length === 1)
    controller.abort()
    expect(await end).toBe(controller.signal.reason)
    await until(() => closed)
  })

  it('aborts the delay before a retry', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const server = await serve(503, 503) // A hedge starts after the first response.
    const resilient = createFetch({ ...options, clock })
    let waits = false
    resilient.on(({ type }) => (waits ||= type === 'retry_scheduled'))
    const end = resilient(server.url, { signal: controller.signal }).catch((e: unknown) => e)
    await until(() => waits)
    controller.abort('enough')
    const sent = server.seen.length
    expect(await end).toBe('enough')
    await clock.advance(60_000)
    expect(server.seen).toHaveLength(sent)
  })

  it('aborts the reading of a body', async () => {
    const controller = new AbortController()
    const server = await serve((_, response) => void response.write('begun'))
    const response = await createFetch(options)(server.url, { signal: controller.signal })
    const text = response.text().catch((e: unknown) => e)
    controller.abort()
    expect(await text).toBe(controller.signal.reason)
  })

  it('of a Request is used unless init has one', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const server = await serve('stall', 'stall')
    const request = new Request(server.url, { signal: first.signal })
    const ends = [
      createFetch(options)(request).catch((e: unknown) => e),
      createFetch(options)(request, { signal: second.signal }).catch((e: unknown) => e),
    ]
    await until(() => server.seen.length === 2)
    second.abort('second')
    expect(await ends[1]).toBe('second')
    first.abort('first')
    expect(await ends[0]).toBe('first')
  })

  it('has no remaining listeners after many requests', async () => {
    const { signal } = new AbortController()
    const resilient = createFetch({ ...options, fetch: async () => new Response(null) })
    for (let i = 0; i < 1000; i++) await resilient('http://a.example', { signal })
    expect(getEventListeners(signal, 'abort').length).toBe(0)
  })

  it('has one listener for any number of bodies', async () => {
    const { signal } = new AbortController()
    const resilient = createFetch({ ...options, fetch: async () => new Response('body') })
    const responses = []
    for (let i = 0; i < 100; i++) responses.push(await resilient('http://a.example', { signal }))
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1)
    expect(await responses[99]?.text()).toBe('body')
  })
})

describe('redirects', () => {
  it('are followed, rejected or returned, as in fetch', async () => {
    const server = await serve({ status: 302, headers: { location: '/there' } }, 503)
    const resilient = createFetch({ retry: immediate })
    server.acts.push({ status: 302, headers: { location: '/there' } })
    const response = await resilient(`${server.url}/here`)
    expect([response.status, response.redirected, response.url]).toEqual([200, true, `${server.url}/there`])
    expect(server.seen.map(({ url }) => url)).toEqual(['/here', '/there', '/here', '/there'])
    server.acts.push({ status: 302, headers: { location: '/there' } })
    expect((await resilient(server.url, { redirect: 'manual' })).status).toBe(302)
    server.acts.push({ status: 302, headers: { location: '/there' } })
    await expect(resilient(server.url, { redirect: 'error', retry: false })).rejects.toBeInstanceOf(TypeError)
  })
})

describe('the signal of an attempt', () => {
  it('is created only when fetch reads it', async () => {
    const made: unknown[] = []
    const { AbortController: Original } = globalThis
    vi.stubGlobal(
      'AbortController',
      class extends Original {
        constructor() {
          super()
          made.push(this)
        }
      },
    )
    onTestFinished(() => void vi.unstubAllGlobals())
    const timeout = { attempt: '1h', total: '2h' } as const
    await createFetch({ timeout, fetch: async () => new Response('ok') })('http://a.example')
    expect(made).toHaveLength(0)
    const inits: (RequestInit | undefined)[] = []
    const reading = createFetch({
      timeout,
      fetch: async (_, init) => {
        inits.push({ ...init })
        return new Response('ok')
      },
    })
    await reading('http://a.example', { method: 'PUT', signal: new Original().signal })
    expect(made).toHaveLength(1)
    expect(inits[0]?.signal).toBeInstanceOf(AbortSignal)
    expect(inits[0]).toMatchObject({ method: 'PUT' })
  })
})
