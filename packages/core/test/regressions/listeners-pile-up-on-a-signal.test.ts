// Each call added a listener to the caller's signal and left it there.
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest'
import { type Attempt, guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const count = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('10,000 calls on one signal', () => {
  let warned: Mock<(error: unknown) => void>
  beforeEach(() => {
    warned = vi.fn()
    process.on('warning', warned)
  })
  afterEach(() => {
    process.off('warning', warned)
  })

  it.each<[string, (attempt: Attempt) => unknown]>([
    ['succeed', () => 'up'],
    ['fail', () => Promise.reject('no error')],
    [
      'succeed at the second attempt',
      ({ number }) => (number === 1 ? Promise.reject(new Error('down')) : 'up'),
    ],
  ])('that run one after another leave no listener when they %s', async (_, fn) => {
    const { signal } = new AbortController()
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' }, fallback: () => 'instead' })
    let most = 0
    for (let i = 0; i < 10_000; i++) {
      const call = api.run(fn, { signal })
      most = Math.max(most, count(signal))
      await call
    }
    expect(most).toBe(1)
    await fakeClock().advance(0)
    expect(count(signal)).toBe(0)
  })

  it('that run at the same time share one listener and cause no warning', async () => {
    const { signal } = new AbortController()
    const api = guard({ clock: fakeClock() })
    const calls = Array.from({ length: 10_000 }, () => api.run(async () => 'up', { signal }))
    expect(count(signal)).toBe(1)
    await Promise.all(calls)
    await fakeClock().advance(0)
    expect(count(signal)).toBe(0)
    expect(warned).not.toHaveBeenCalled()
  })
})
