import { describe, expect, it } from 'vitest'
import { type GuardOptions, guard } from '../../src/index.js'
import { fakeClock, scripted } from '../../src/testing/index.js'

/** The delay before the one retry of a call. */
async function waitWith(options: GuardOptions): Promise<number | undefined> {
  const clock = fakeClock()
  const kept = guard({ ...options, clock })
  let wait: number | undefined
  kept.on((event) => {
    if (event.type === 'retry_scheduled') wait = event.delay
  })
  const call = kept.run(scripted([new Error('down'), 'up']))
  await Promise.all([expect(call).resolves.toBe('up'), clock.advance(10_000)])
  return wait
}

describe('a user function with a result out of range neither ends a call nor causes a negative delay', () => {
  it.each([Number.NaN, 2, -1, undefined as never])('random returns %s', async (chance) => {
    const retry = { jitterType: 'full', jitterAmount: 1 } as const
    expect(await waitWith({ random: () => chance, retry })).toBe(500)
  })

  it.each([Number.NaN, -5, '5' as never, '5s' as never])(
    'classify returns retryAfter %s',
    async (retryAfter) => {
      expect(await waitWith({ classify: () => ({ retryAfter }) })).toBe(1000)
    },
  )
})
