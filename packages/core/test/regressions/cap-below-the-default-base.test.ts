import { describe, expect, it } from 'vitest'
import { guard, type RetryOptions } from '../../src/index.js'
import { fakeClock, scripted } from '../../src/testing/index.js'

/** The delay before the first retry. */
async function firstWait(retry: RetryOptions, override?: RetryOptions): Promise<number | undefined> {
  const clock = fakeClock()
  const kept = guard({ clock, retry })
  let wait: number | undefined
  kept.on((event) => {
    if (event.type === 'retry_scheduled') wait = event.delay
  })
  const call = kept.run(scripted([new Error('down'), 'up']), { retry: override })
  await clock.advance(10_000)
  await call
  return wait
}

describe('a maxDelay below the default baseDelay', () => {
  it('caps the default delay', async () => {
    expect(await firstWait({ maxDelay: 500 })).toBe(500)
  })

  it('caps a backoff function', async () => {
    expect(await firstWait({ maxDelay: 500, backoffType: () => 9000 })).toBe(500)
  })

  it('caps the delays of one call', async () => {
    expect(await firstWait({ baseDelay: 2000 }, { maxDelay: 500 })).toBe(500)
  })

  it('is rejected where baseDelay is given and higher', () => {
    expect(() => guard({ retry: { baseDelay: 501, maxDelay: 500 } })).toThrow(
      'retry.maxDelay: expected at least baseDelay (501), got 500',
    )
  })
})
