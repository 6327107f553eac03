// An abort during a delay called the function again, or took effect only after the delay.
import { describe, expect, it, vi } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

describe.each([0, 1, 500, 999.999])('an abort %d ms into a delay of a second', (ms) => {
  const setUp = async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const fn = vi.fn(() => Promise.reject(new Error('down')))
    const call = fate(guard({ clock, retry: { baseDelay: '1s' } }).run(fn, { signal: controller.signal }))
    await clock.advance(ms)
    controller.abort('enough')
    return { clock, fn, call }
  }

  it('rejects the call without waiting', async () => {
    const { clock, call } = await setUp()
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: 'enough' })
  })

  it('does not call the function again', async () => {
    const { clock, fn } = await setUp()
    await clock.advance(60_000)
    expect(fn).toHaveBeenCalledTimes(1)
  })
})
