import { afterEach, describe, expect, it, vi } from 'vitest'
import { guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

afterEach(() => vi.restoreAllMocks())

describe('invalid input of a caller', () => {
  it('a random function that throws is reported once, and the call continues', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const clock = fakeClock()
    const random = () => {
      throw new Error('no chance')
    }
    const call = guard({ clock, random, retry: { jitterType: 'full', jitterAmount: 1 } }).run(
      ({ number }) => {
        if (number < 3) throw new Error('down')
        return number
      },
    )
    await clock.advance(3000)
    expect(await call).toBe(3)
    expect(said).toHaveBeenCalledTimes(1)
  })

  it('a signal of null means no signal, as in fetch', async () => {
    expect(await guard().run(() => 1, { signal: null as unknown as undefined })).toBe(1)
  })

  it('an empty classification changes nothing', async () => {
    const none = { category: undefined, kind: undefined } as object
    const clock = fakeClock()
    const call = guard({ clock, classify: () => none }).run(({ number }) => {
      if (number === 1) throw new Error('down')
      return number
    })
    await clock.advance(1000)
    expect(await call).toBe(2)
  })

  it('a timer that fires late does not start an attempt after the deadline', async () => {
    const clock = fakeClock()
    const late = {
      ...clock,
      setTimer: (fn: () => void, ms: number) => clock.setTimer(fn, ms === 1000 ? 6000 : ms),
    }
    const fn = vi.fn(() => Promise.reject(new Error('down')))
    const call = guard({ clock: late, timeout: { attempt: 4000, total: 5000 } })
      .run(fn)
      .catch((error: unknown) => error)
    await clock.advance(10_000)
    const error = await call
    expect(error).toMatchObject({ message: 'down' })
    expect(sessionOf(error)?.stopped).toBe('deadline')
    expect(fn).toHaveBeenCalledTimes(1)
  })
})

it.each([429, 404])(
  'an unwanted answer %i says nothing to the breaker, as it does when thrown',
  async (status) => {
    const clock = fakeClock()
    const call = guard({
      clock,
      breaker: { windowType: 'consecutive', failureThreshold: 2 },
      retry: { maxAttempts: 1, retryIf: () => true },
    })
    call.breaker?.admit()?.failure()
    await call.run(() => ({ status, headers: new Headers() }))
    expect(call.breaker?.failureCount).toBe(1)
  },
)
