import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('gives an immediate retry its whole timeout, however long a listener took before', async () => {
  const clock = fakeClock()
  const steps: number[] = []
  const slow = { ...clock, now: () => clock.now() + (steps.length > 0 ? 60 : 0) }
  const one = guard({
    retry: { maxAttempts: 2, backoffType: 'immediate' },
    timeout: { attempt: 50 },
    clock: slow,
  })
  one.on(({ type }) => type === 'retry_scheduled' && steps.push(1))
  const result = one.run(({ number }) => {
    if (number === 1) throw new Error('once')
    return new Promise((resolve) => clock.setTimer(() => resolve('there'), 20))
  })
  await clock.advance(20)
  await expect(result).resolves.toBe('there')
})
