import { Agent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { resilience } from '../../src/undici/index.js'
import { immediate, serve, until } from '../http/server.js'

interface OldAgent {
  compose(...interceptors: unknown[]): object
  dispatch: (options: object, handler: object) => boolean
}

/** The agent of the platform's own fetch: an undici whose handlers have the old form. */
async function oldAgent(): Promise<OldAgent> {
  const agent = () => (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')]
  if (agent() === undefined) await fetch('data:,').catch(() => {})
  return agent() as OldAgent
}

const isOld = !(process.versions as { undici?: string }).undici?.startsWith('8')

describe.runIf(isOld)('the platform’s own undici', () => {
  const send = async (url: string, init: RequestInit = {}, options = {}) => {
    const dispatcher = (await oldAgent()).compose(resilience({ retry: immediate, ...options }))
    return fetch(url, { ...init, dispatcher } as RequestInit)
  }

  it('tries again, and hands the answer over as it is', async () => {
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

  it('keeps cookies apart', async () => {
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

  it('reads Retry-After, returns the last answer, and sends a POST once', async () => {
    const later = { status: 429, headers: { 'Retry-After': '3600' }, body: 'later' }
    const server = await serve(later, { status: 503, body: 'no' })
    expect(await (await send(server.url)).text()).toBe('later')
    expect(await (await send(server.url, { method: 'POST', body: 'pay' })).text()).toBe('no')
    expect(server.seen).toHaveLength(2)
  })

  it('aborts', async () => {
    const server = await serve('stall')
    const controller = new AbortController()
    const end = send(server.url, { signal: controller.signal }).catch((e: unknown) => e)
    await until(() => server.seen.length === 1)
    controller.abort()
    expect(await end).toBe(controller.signal.reason)
  })
})

describe('an old handler over a new dispatcher', () => {
  it('hears everything in the old form, once', async () => {
    const agent = new Agent()
    onTestFinished(() => agent.destroy())
    const dispatch = resilience({ retry: immediate })((options: object, handler: object) =>
      agent.dispatch(options as never, handler as never),
    )
    const server = await serve(503, { status: 200, headers: { 'x-a': 'b' }, body: 'hello' })
    const heard: unknown[] = []
    await new Promise<void>((resolve, reject) => {
      const handler = {
        onConnect: (abort: unknown) => heard.push(['connect', typeof abort]),
        onHeaders: (status: number, raw: Buffer[], resume: () => void) => {
          const at = raw.findIndex((item) => item.toString() === 'x-a')
          heard.push([status, raw[at + 1]?.toString()])
          setImmediate(resume)
          return false
        },
        onData: (chunk: Buffer) => heard.push(chunk.toString()) > 0,
        onComplete: () => resolve(),
        onError: reject,
      }
      dispatch({ origin: server.url, path: '/', method: 'GET' }, handler)
    })
    expect(heard).toEqual([['connect', 'function'], [200, 'b'], 'hello'])
  })

  it('hears of an error', async () => {
    const failing = resilience({ retry: immediate })(() => {
      throw new TypeError('wrong options')
    })
    const error = await new Promise((resolve) =>
      (failing as (options: object, handler: object) => boolean)(
        { path: '/', method: 'GET' },
        { onConnect: () => {}, onError: resolve },
      ),
    )
    expect(error).toBeInstanceOf(TypeError)
  })
})
