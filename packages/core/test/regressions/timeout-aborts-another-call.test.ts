// Calls under one policy shared a signal, so that one call's timeout aborted the others.
import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

it('each call is aborted by its own timeout, at its own time, with its own error', async () => {
  const clock = fakeClock()
  const api = guard({ clock, retry: false, timeout: { attempt: 100 } })
  const aborted: { call: number; at: number; reason: unknown }[] = []
  const calls = []
  for (let call = 0; call < 10; call++) {
    calls.push(
      fate(
        api.run(
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                aborted.push({ call, at: clock.now(), reason: signal.reason })
                reject(signal.reason)
              })
            }),
        ),
      ),
    )
    await clock.advance(30)
  }
  await clock.advance(1000)
  expect(aborted.map(({ call, at }) => [call, at])).toEqual(calls.map((_, call) => [call, call * 30 + 100]))
  expect(aborted.map(({ reason }) => reason)).toEqual(calls.map(({ error }) => error))
  expect(new Set(calls.map(({ error }) => error)).size).toBe(10)
})
