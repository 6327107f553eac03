// `fakeClock.advance` moved time while a call was giving the event loop a turn, after each hundredth immediate attempt.
import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

it.each([99, 100, 101, 350, 5000, 30_000])(
  'all %i immediate attempts are made before time advances',
  async (maxAttempts) => {
    const clock = fakeClock()
    const times = new Set<number>()
    let attempts = 0
    const call = fate(
      guard({ clock, retry: { maxAttempts, backoffType: 'immediate' }, timeout: { total: 1000 } }).run(() => {
        attempts++
        times.add(clock.now())
        throw new Error('down')
      }),
    )
    await clock.advance(5000)
    expect(call.state).toBe('rejected')
    expect(attempts).toBe(maxAttempts)
    expect([...times]).toEqual([0])
  },
)

it('endless attempts do not keep fake time from advancing', async () => {
  const clock = fakeClock()
  const call = fate(
    guard({
      clock,
      retry: { maxAttempts: Infinity, backoffType: 'immediate' },
      timeout: { total: 1000 },
    }).run(() => {
      throw new Error('down')
    }),
  )
  await clock.advance(1000)
  await clock.advance(1)
  expect(call.state).toBe('rejected')
})
