// A retry around a call whose breaker was open retried the rejection instead of giving up.
import { expect, it, vi } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

it.each([
  ['as it came', async (call: Promise<unknown>) => call],
  [
    'as the cause of another error',
    async (call: Promise<unknown>) =>
      call.catch((cause: unknown) => {
        throw new Error('the page could not be loaded', { cause })
      }),
  ],
])('CIRCUIT_OPEN of an inner guard is not retried: %s', async (_, pass) => {
  const clock = fakeClock()
  const inner = guard({ clock, retry: false, breaker: { failureThreshold: 1 } })
  const reach = vi.fn(() => Promise.reject(new Error('down')))
  fate(inner.run(reach))
  await clock.advance(0)
  const asked = vi.fn(() => pass(inner.run(reach)))
  const call = fate(guard({ clock, retry: { maxAttempts: 10, backoffType: 'immediate' } }).run(asked))
  await clock.advance(1000)
  expect(call.state).toBe('rejected')
  expect(asked).toHaveBeenCalledTimes(1)
  expect(reach).toHaveBeenCalledTimes(1)
})
