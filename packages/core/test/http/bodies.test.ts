import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createFetch, type FetchBody } from '../../src/http/index.js'
import { immediate, serve } from './server.js'

/** Deno sends the body of a Request in chunks. */
const isDeno = 'Deno' in globalThis

const form = () => {
  const data = new FormData()
  data.append('field', 'value')
  data.append('file', new Blob(['content']), 'a.txt')
  return data
}

const bytes = new TextEncoder().encode('payload')

const stream = (text: string) =>
  new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })

describe('a body that can be read repeatedly is sent again', () => {
  it.each<[string, FetchBody]>([
    ['a string', 'payload'],
    ['a buffer', Buffer.from('payload')],
    ['a typed array', bytes],
    ['an ArrayBuffer', bytes.buffer as ArrayBuffer],
    ['a DataView', new DataView(bytes.buffer)],
    ['a Blob', new Blob(['payload'])],
    ['a function', () => 'payload'],
    ['a function that promises', async () => bytes],
    ['a function that makes streams', () => stream('payload')],
  ])('%s', async (_, body) => {
    const server = await serve(503, 'reset')
    const response = await createFetch({ retry: immediate })(server.url, { method: 'PUT', body })
    expect(response.status).toBe(200)
    expect(server.seen.map((seen) => seen.body)).toEqual(['payload', 'payload', 'payload'])
  })

  it('URLSearchParams', async () => {
    const server = await serve(503)
    await createFetch({ retry: immediate })(server.url, {
      method: 'PUT',
      body: new URLSearchParams({ a: 'b' }),
    })
    expect(server.seen.map(({ body, headers }) => [body, headers['content-type']])).toEqual(
      Array(2).fill(['a=b', 'application/x-www-form-urlencoded;charset=UTF-8']),
    )
  })

  it('FormData', async () => {
    const server = await serve(503)
    await createFetch({ retry: immediate })(server.url, { method: 'PUT', body: form() })
    expect(server.seen).toHaveLength(2)
    for (const { body } of server.seen)
      expect(body).toMatch(/name="field"[^]*value[^]*filename="a.txt"[^]*content/)
  })

  it('a Request with a body, which is consumed as by fetch', async () => {
    const server = await serve(503, 'reset')
    const request = new Request(server.url, { method: 'PUT', body: 'payload' })
    expect((await createFetch({ retry: immediate })(request)).status).toBe(200)
    expect(server.seen.map(({ body }) => body)).toEqual(['payload', 'payload', 'payload'])
    expect(server.seen.map(({ headers }) => headers['content-length'])).toEqual(
      Array(3).fill(isDeno ? undefined : '7'),
    )
    expect(request.bodyUsed).toBe(true)
    await expect(createFetch({ retry: immediate })(request)).rejects.toBeInstanceOf(TypeError)
  })

  it('a Request whose init has another body', async () => {
    const server = await serve(503)
    const request = new Request(server.url, { method: 'PUT', body: 'old' })
    await createFetch({ retry: immediate })(request, { body: 'new', headers: { 'x-a': 'b' } })
    expect(server.seen.map(({ body, headers }) => [body, headers['x-a']])).toEqual([
      ['new', 'b'],
      ['new', 'b'],
    ])
  })
})

describe('a one-shot stream', () => {
  it.each([
    ['a ReadableStream', () => stream('payload')],
    ['a Readable', () => Readable.from([Buffer.from('payload')]) as never],
  ])('(%s) is not sent again after it was read', async (_, make) => {
    for (const act of [503, 'reset'] as const) {
      const server = await serve(act)
      const init = { method: 'PUT', body: make(), duplex: 'half' } as const
      const end = await createFetch({ retry: immediate })(server.url, init).then(
        ({ status }) => status,
        () => 'failed',
      )
      expect(end).toBe(act === 503 ? 503 : 'failed')
      expect(server.seen.map(({ body }) => body)).toEqual(['payload'])
    }
  })

  it('is sent again when nothing of it was read', async () => {
    const server = await serve()
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    let attempts = 0
    const resilient = createFetch({
      retry: immediate,
      fetch: (input, init) => (attempts++ === 0 ? Promise.reject(refused) : fetch(input, init)),
    })
    const init = { method: 'POST', body: stream('payload'), duplex: 'half' } as const
    expect((await resilient(server.url, init)).status).toBe(200)
    expect(attempts).toBe(2)
    expect(server.seen.map(({ body }) => body)).toEqual(['payload'])
  })

  it('requires duplex where fetch does', async () => {
    const server = await serve()
    const outcomeOf = (send: typeof fetch) =>
      send(server.url, { method: 'PUT', body: stream('payload') }).then(
        ({ status }) => status,
        (error: Error) => error.message,
      )
    expect(await outcomeOf(createFetch({ retry: immediate }) as typeof fetch)).toBe(await outcomeOf(fetch))
  })
})
