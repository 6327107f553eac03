import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('ends an attempt at its timeout, also if the deadline of another call has started a new call just before', async () => {
  const clock = fakeClock()
  const one = guard({ retry: { maxAttempts: 2, backoffType: 'immediate' }, timeout: { attempt: 100 }, clock })
  /** The time at which each attempt of a call was aborted. */
  const abortedAt: number[] = []
  const run = () =>
    one
      .run(
        ({ signal }) =>
          new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => {
              abortedAt.push(clock.now())
              reject(signal.reason as Error)
            })
          }),
      )
      .catch(() => {})
  const first = run()
  await clock.advance(4)
  const second = run()
  await clock.advance(300)
  await Promise.all([first, second])
  expect(abortedAt).toEqual([100, 104, 200, 204])
})
