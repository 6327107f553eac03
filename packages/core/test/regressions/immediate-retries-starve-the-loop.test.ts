import { expect, it } from 'vitest'
import { nextMacrotask } from '../../src/clock.js'
import { guard } from '../../src/index.js'

it('a call that retries without a delay ends when a later turn of the event loop aborts it', async () => {
  const controller = new AbortController()
  const call = guard({ retry: { maxAttempts: Infinity, backoffType: 'immediate' } })
    .run(() => Promise.reject(new Error('down')), { signal: controller.signal })
    .catch((error: unknown) => error)
  void nextMacrotask().then(() => controller.abort('enough'))
  expect(await call).toBe('enough')
})
