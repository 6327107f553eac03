// Where the platform hides redirects (browsers), a redirected request was sent a second time with `redirect: 'follow'`: the
// headers of the pool's member went to whatever origin the redirect named, and a POST arrived twice.
import { describe, expect, it } from 'vitest'
import { createFetch, type FetchTarget } from '../../src/http/index.js'
import { Pool } from '../../src/index.js'

interface Sent {
  readonly redirect: string
  readonly key: string | null
}

/** A fetch as browsers have it: with `redirect: 'manual'` a redirect is an opaque response without a status. */
function browserFetch() {
  const sent: Sent[] = []
  const fetch = async (_input: unknown, init: RequestInit = {}): Promise<Response> => {
    const { redirect = 'follow' } = init
    sent.push({ redirect, key: new Headers(init.headers).get('x-api-key') })
    if (redirect !== 'manual') return new Response('followed')
    return Object.defineProperties(new Response(null), {
      type: { value: 'opaqueredirect' },
      status: { value: 0 },
      ok: { value: false },
    })
  }
  return { fetch, sent }
}

const pooled = (headers: Record<string, string>) =>
  new Pool<FetchTarget>({ id: 'p', members: [{ id: 'a', value: { origin: 'https://a.example', headers } }] })

describe('a redirect that the platform hides', () => {
  it.each(['GET', 'POST'])('fails a %s with the headers of a member, which is sent once', async (method) => {
    const { fetch, sent } = browserFetch()
    const send = createFetch({
      fetch,
      pool: pooled({ 'x-api-key': 'secret' }),
      retry: { maxAttempts: 3, backoffType: 'immediate', retryNonIdempotent: true },
    })
    const error = await send('https://x.example/start', { method }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'TypeError',
      message: 'fetch failed',
      cause: { message: expect.stringContaining('redirect') },
    })
    expect(sent).toEqual([{ redirect: 'manual', key: 'secret' }])
  })

  it('is followed by the platform when it removes all headers of the member itself', async () => {
    const { fetch, sent } = browserFetch()
    const send = createFetch({ fetch, pool: pooled({ authorization: 'Bearer secret' }) })
    expect(await (await send('https://x.example/start')).text()).toBe('followed')
    expect(sent).toMatchObject([{ redirect: 'follow' }])
  })

  it('is returned to a caller with redirect: manual', async () => {
    const { fetch } = browserFetch()
    const send = createFetch({ fetch, pool: pooled({ 'x-api-key': 'secret' }) })
    const { type } = await send('https://x.example/start', { redirect: 'manual' })
    expect(type).toBe('opaqueredirect')
  })
})
