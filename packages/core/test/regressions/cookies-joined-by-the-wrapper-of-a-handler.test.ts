import { expect, it } from 'vitest'
import { resilience } from '../../src/undici/index.js'

type Listener = (...args: never[]) => void

/** A dispatcher with the current interface, as that of undici 7, that answers with two cookies and without raw headers. */
function dispatch(_: object, handler: Record<string, Listener>): boolean {
  const call = (name: string, ...args: unknown[]) => handler[name]?.(...(args as never[]))
  const controller = { pause() {}, resume() {}, abort() {} }
  call('onRequestStart', controller, {})
  call('onResponseStart', controller, 200, { 'set-cookie': ['a=1', 'b=2'] }, 'OK')
  call('onResponseEnd', controller, {})
  return true
}

it('a handler with both interfaces receives raw headers, because its wrapper joins those of the same name', async () => {
  const cookies: unknown[] = []
  await new Promise<void>((resolve, reject) => {
    /** The wrapper of undici 7.16 around the handler of fetch. */
    const wrapper = {
      onConnect() {},
      onHeaders: (_: number, raw: Uint8Array[]) =>
        raw.forEach((value, i) => {
          // fetch decodes the values as Buffers.
          if (i % 2 === 1) cookies.push((value as Buffer).toString('latin1'))
        }),
      onData() {},
      onComplete: () => resolve(),
      onError: reject,
      onRequestStart() {},
      onResponseStart: (_: unknown, __: number, headers: Record<string, string[]>) =>
        cookies.push(headers['set-cookie']?.join(',')),
      onResponseData() {},
      onResponseEnd: () => resolve(),
      onResponseError: (_: unknown, error: Error) => reject(error),
    }
    const intercept = resilience() as unknown as (
      next: unknown,
    ) => (options: object, handler: object) => boolean
    intercept(dispatch)({ origin: 'http://api.example', path: '/', method: 'GET' }, wrapper)
  })
  expect(cookies).toEqual(['a=1', 'b=2'])
})
