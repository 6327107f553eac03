import { describe, expect, it } from 'vitest'
import { resilience } from '../../src/undici/index.js'
import { immediate, serve, until } from '../http/server.js'

interface OldAgent {
  compose(interceptor: unknown): object
}

/**
 * The agent of the platform's own fetch. Nothing here may import undici: the newer of the two would take its place.
 */
async function oldAgent(): Promise<OldAgent> {
  await fetch('data:,')
  return (globalThis as unknown as Record<symbol, OldAgent>)[
    Symbol.for('undici.globalDispatcher.1')
  ] as OldAgent
}

function form(): FormData {
  const made = new FormData()
  made.set('payload', new Blob(['content']), 'name.txt')
  return made
}

describe('the undici of the platform', () => {
  const send = async (url: string, init: RequestInit = {}, options = {}) => {
    const dispatcher = (await oldAgent()).compose(resilience({ retry: immediate, ...options }))
    return fetch(url, { ...init, dispatcher } as RequestInit)
  }

  it('is retried, and its response is unchanged', async () => {
    const server = await serve(503, 'reset', {
      status: 200,
      headers: { 'x-a': 'b' },
      body: 'x'.repeat(300_000),
    })
    const response = await send(server.url)
    expect([response.status, response.headers.get('x-a'), (await response.text()).length]).toEqual([
      200,
      'b',
      300_000,
    ])
    expect(server.seen).toHaveLength(3)
  })

  it('keeps cookies separate', async () => {
    const server = await serve((_, response) => {
      response
        .writeHead(
          200,
          [
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
          ].flat(),
        )
        .end()
    })
    expect((await send(server.url)).headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  it('respects Retry-After, returns the last response, and sends a POST once', async () => {
    const later = { status: 429, headers: { 'Retry-After': '3600' }, body: 'later' }
    const server = await serve(later, { status: 503, body: 'no' })
    expect(await (await send(server.url)).text()).toBe('later')
    expect(await (await send(server.url, { method: 'POST', body: 'pay' })).text()).toBe('no')
    expect(server.seen).toHaveLength(2)
  })

  it.each([
    ['a string', () => 'payload'],
    ['a buffer', () => new TextEncoder().encode('payload')],
    ['a blob', () => new Blob(['pay', 'load'])],
    ['parameters', () => new URLSearchParams({ payload: '' })],
    ['a form', form],
  ])('sends %s again completely although fetch converts it to a stream', async (_, make) => {
    const server = await serve(503, 'reset')
    const response = await send(server.url, { method: 'PUT', body: make() as BodyInit })
    expect(response.status).toBe(200)
    const bodies = server.seen.map(({ body }) => body)
    expect(bodies).toHaveLength(3)
    expect(new Set(bodies).size).toBe(1)
    expect(bodies[0]).not.toBe('')
  })

  it('sends a stream only once, and a body that exceeds the buffer', async () => {
    const server = await serve(503, 503)
    const stream = { body: new Blob(['payload']).stream(), duplex: 'half' }
    expect((await send(server.url, { method: 'PUT', ...stream } as RequestInit)).status).toBe(503)
    const long = 'x'.repeat(1_048_577)
    expect((await send(server.url, { method: 'PUT', body: long })).status).toBe(503)
    expect(server.seen.map(({ body }) => body.length)).toEqual([7, long.length])
  })

  it('can be aborted', async () => {
    const server = await serve('stall')
    const controller = new AbortController()
    const end = send(server.url, { signal: controller.signal }).catch((e: unknown) => e)
    await until(() => server.seen.length === 1)
    controller.abort()
    expect(await end).toBe(controller.signal.reason)
  })
})
