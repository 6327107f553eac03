// The failure of an attempt that was no longer awaited ended the process as an unhandled rejection.
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

let unhandled: Mock<(error: unknown) => void>
beforeEach(() => {
  unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
})
afterEach(() => {
  process.off('unhandledRejection', unhandled)
})

describe('an attempt that fails late causes no unhandledRejection', () => {
  const setUp = () => {
    const clock = fakeClock()
    const late = () => new Promise<never>((_, reject) => clock.setTimer(() => reject(new Error('late')), 500))
    return { clock, late, controller: new AbortController() }
  }

  it.each([
    ['its own deadline', { attempt: 100 }],
    ["the call's deadline", { total: 100 }],
  ])('after %s', async (_, timeout) => {
    const { clock, late } = setUp()
    const call = fate(guard({ clock, timeout, retry: { backoffType: 'immediate' } }).run(late))
    await clock.advance(5000)
    expect(call.state).toBe('rejected')
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('after the caller aborted', async () => {
    const { clock, late, controller } = setUp()
    const call = fate(guard({ clock }).run(late, { signal: controller.signal }))
    controller.abort()
    await clock.advance(5000)
    expect(call.state).toBe('rejected')
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('when it is a wrapped function', async () => {
    const { clock, late } = setUp()
    const wrapped = guard({ clock, retry: false, timeout: { total: 100 } }).wrap(late)
    const call = fate(wrapped())
    await clock.advance(5000)
    expect(call.state).toBe('rejected')
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('when it is a fallback', async () => {
    const { clock, late, controller } = setUp()
    const api = guard({ clock, retry: false, fallback: late })
    const call = fate(api.run(() => Promise.reject(new Error('down')), { signal: controller.signal }))
    await clock.advance(100)
    controller.abort()
    await clock.advance(5000)
    expect(call.state).toBe('rejected')
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('before a retry that succeeds', async () => {
    const clock = fakeClock()
    const call = fate(
      guard({ clock }).run(({ number }) => (number < 3 ? Promise.reject(new Error('down')) : 'up')),
    )
    await clock.advance(5000)
    expect(call.value).toBe('up')
    expect(unhandled).not.toHaveBeenCalled()
  })
})
