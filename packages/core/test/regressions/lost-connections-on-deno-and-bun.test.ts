import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { classify } from '../../src/index.js'

/** The errors of `fetch` on Deno 2: what happened is only in the message. */
const onDeno = (message: string) => new TypeError('fetch failed', { cause: new Error(message) })
const refusedOnDeno = (url: string) =>
  onDeno(
    `error sending request for url (${url}): client error (Connect): tcp connect error: Connection refused (os error 111)`,
  )

/** The error of `fetch` on Bun: `path` is the URL of the first request, also after a redirect. */
const refusedOnBun = (path: string) =>
  Object.assign(new TypeError('ECONNREFUSED: Unable to connect.'), { code: 'ECONNREFUSED', path, errno: 0 })

const URL_OF_ORDER = 'http://api.example/orders?id=7'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('a lost connection is classified as a network error', () => {
  it.each([
    ['reset, on Deno', onDeno('Connection reset by peer (os error 104)')],
    [
      'reset, on Deno for Windows',
      onDeno('An existing connection was forcibly closed by the remote host. (os error 10054)'),
    ],
    ['broken while sending, on Deno', onDeno('Broken pipe (os error 32)')],
    ['lost in a body, on Deno', new TypeError('error reading a body from connection')],
    [
      'with a response that is not HTTP, on Bun',
      Object.assign(new TypeError('Malformed_HTTP_Response fetching "http://a.example/"'), {
        code: 'Malformed_HTTP_Response',
      }),
    ],
  ])('%s', (_, error) => {
    expect(classify(error)).toEqual({ category: 'transient', kind: 'network_error' })
  })
})

describe('a POST whose connection was refused', () => {
  it.each([
    ['on Deno', refusedOnDeno(URL_OF_ORDER), 'follow', 3],
    ['on Deno, after a redirect', refusedOnDeno('http://api.example/paid'), 'follow', 1],
    ['on Bun, possibly after a redirect', refusedOnBun(URL_OF_ORDER), 'follow', 1],
    ['on Bun, where redirects are not followed', refusedOnBun(URL_OF_ORDER), 'manual', 3],
  ] as const)('is sent again only if it did not arrive: %s', async (_, error, redirect, attempts) => {
    let calls = 0
    const post = createFetch({
      retry: { maxAttempts: 3, backoffType: 'immediate' },
      fetch: async () => {
        calls++
        throw error
      },
    })
    await expect(post(`${URL_OF_ORDER}#top`, { method: 'POST', body: 'pay', redirect })).rejects.toBe(error)
    expect(calls).toBe(attempts)
  })
})

describe('the fetch of Bun', () => {
  const retry = { maxAttempts: 3, backoffType: 'immediate' } as const

  /** Makes `answer` the fetch of a platform that is Bun. Returns the sent requests. */
  function stubBun(answer: (url: string) => Response): string[] {
    const sent: string[] = []
    if (!('Bun' in globalThis)) vi.stubGlobal('Bun', {})
    vi.stubGlobal('fetch', async (input: string | URL | Request, init: RequestInit) => {
      const url = input instanceof Request ? input.url : String(input)
      sent.push(`${init.method ?? 'GET'} ${url} ${init.redirect ?? 'follow'}`)
      return answer(url)
    })
    return sent
  }

  it('sends a POST again whose connection was refused, because redirects are not left to it', async () => {
    const sent = stubBun(() => {
      throw refusedOnBun(URL_OF_ORDER)
    })
    await expect(createFetch({ retry })(URL_OF_ORDER, { method: 'POST', body: 'pay' })).rejects.toThrow()
    expect(sent).toEqual(Array.from({ length: 3 }, () => `POST ${URL_OF_ORDER} manual`))
  })

  it('does not send a POST again whose redirect leads to an unreachable host', async () => {
    const location = 'http://gone.example/'
    const sent = stubBun((url) => {
      if (url === location) throw refusedOnBun(URL_OF_ORDER)
      return new Response(null, { status: 303, headers: { location } })
    })
    const post = new Request(URL_OF_ORDER, { method: 'POST', body: 'pay' })
    await expect(createFetch({ retry })(post)).rejects.toThrow()
    expect(sent).toEqual([`POST ${URL_OF_ORDER} manual`, `GET ${location} follow`])
  })

  it('follows the redirects of a GET itself', async () => {
    const sent = stubBun(() => new Response('order'))
    await createFetch({ retry })(URL_OF_ORDER)
    expect(sent).toEqual([`GET ${URL_OF_ORDER} follow`])
  })
})
