import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, held, opened } from '../breaker/setup.js'

it.each([1, 2, 7])(
  'of 1000 callers at the moment a breaker half-opens, %i are admitted',
  async (halfOpenMax) => {
    const { breaker, clock } = opened({ halfOpenMax, successThreshold: 100 })
    await clock.advance(1000)
    const permits = Array.from({ length: 1000 }, () => breaker.admit())
    expect(permits.filter((permit) => permit !== undefined)).toHaveLength(halfOpenMax)
  },
)

it('of 1000 calls through a guard at the moment its breaker half-opens, one reaches the target', async () => {
  const clock = fakeClock()
  const kept = guard({ clock, retry: false, breaker: { timeoutDuration: 1000 } })
  kept.breaker?.trip()
  await clock.advance(1000)
  let calls = 0
  const { promise, resolve } = held<string>()
  const target = () => {
    calls++
    return promise
  }
  const results = Array.from({ length: 1000 }, () =>
    kept.run(target).catch((error: { code: string }) => error.code),
  )
  await clock.advance(0)
  expect(calls).toBe(1)
  resolve('up')
  const settled = await Promise.all(results)
  expect(settled.filter((result) => result === 'up')).toHaveLength(1)
  expect(settled.filter((result) => result === 'CIRCUIT_OPEN')).toHaveLength(999)
})

it('a call that is rejected occupies no probe permit', async () => {
  const { breaker, clock } = opened({ halfOpenMax: 2, successThreshold: 100 })
  await clock.advance(1000)
  const first = admitted(breaker)
  admitted(breaker)
  for (let i = 0; i < 1000; i++) breaker.admit()
  first.success()
  expect(breaker.admit()).toBeDefined()
  expect(breaker.admit()).toBeUndefined()
})
