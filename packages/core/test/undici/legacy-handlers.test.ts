import { Agent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { resilience } from '../../src/undici/index.js'
import { immediate, serve } from '../http/server.js'

describe('a legacy handler with a current dispatcher', () => {
  it('receives every event in the legacy form, once', async () => {
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

  it('receives an error', async () => {
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
