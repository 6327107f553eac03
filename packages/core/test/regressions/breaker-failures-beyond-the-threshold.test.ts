import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, made, succeed } from '../breaker/setup.js'

it('failures beyond the threshold neither cancel nor postpone the end of the open time', async () => {
  const { breaker, clock } = made({ failureThreshold: 3, timeoutDuration: 1000, timeoutMultiplier: 2 })
  const permits = Array.from({ length: 50 }, () => admitted(breaker))
  for (const permit of permits.slice(0, 3)) permit.failure()
  const due = breaker.nextTestTime
  for (const permit of permits.slice(3)) {
    await clock.advance(10)
    permit.failure()
    expect(breaker.nextTestTime).toBe(due)
  }
  expect(breaker.failureCount).toBe(3)
  await clock.advance(1000 - 470)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('failures of 50 running calls of a guard do not postpone the end of the open time', async () => {
  const clock = fakeClock()
  const kept = guard({ clock, retry: false, breaker: { failureThreshold: 3, timeoutDuration: 1000 } })
  const calls = Array.from({ length: 50 }, () =>
    kept.run(() => Promise.reject(new Error('down'))).catch(() => {}),
  )
  await Promise.all(calls)
  expect(kept.breaker?.nextTestTime).toBe(clock.wall() + 1000)
  await clock.advance(1000)
  await expect(kept.run(() => 'up')).resolves.toBe('up')
})
