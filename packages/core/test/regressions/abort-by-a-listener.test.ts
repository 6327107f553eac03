// A listener that aborted the call from inside an event had the function called after the abort.
import { expect, it, vi } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

it('the function is not called after a listener of the breaker aborted', async () => {
  const clock = fakeClock()
  const controller = new AbortController()
  const api = guard({ clock, breaker: { timeoutDuration: 1000 } })
  api.breaker?.trip()
  await clock.advance(1000)
  api.breaker?.on(() => controller.abort('enough'))
  const fn = vi.fn()
  const call = fate(api.run(fn, { signal: controller.signal }))
  await clock.advance(0)
  expect(call).toEqual({ state: 'rejected', error: 'enough' })
  expect(fn).not.toHaveBeenCalled()
})
