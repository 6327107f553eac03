import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, opened, succeed } from '../breaker/setup.js'

it('a hung probe does not keep a breaker half open', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker)
  await clock.advance(1000)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('halfOpenMax hung probes do not keep a breaker half open', async () => {
  const { breaker, clock } = opened({ halfOpenMax: 3 })
  await clock.advance(1000)
  for (let i = 0; i < 3; i++) admitted(breaker)
  expect(breaker.admit()).toBeUndefined()
  await clock.advance(1000)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('a probe that is ignored does not keep a breaker half open', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker).ignore()
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('a probe with an error that does not count does not keep a breaker half open', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker).failure(Object.assign(new Error('too many'), { status: 429 }))
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('a probe whose caller aborts does not keep a breaker half open', async () => {
  const clock = fakeClock()
  const kept = guard({ clock, retry: false, breaker: { timeoutDuration: 1000 } })
  kept.breaker?.trip()
  await clock.advance(1000)
  const controller = new AbortController()
  const test = kept
    .run(() => new Promise<never>(() => {}), { signal: controller.signal })
    .catch(() => 'aborted')
  controller.abort()
  await test
  await expect(kept.run(() => 'up')).resolves.toBe('up')
  expect(kept.breaker?.state).toBe('closed')
})

it('a probe that its deadline ends does not keep a breaker half open', async () => {
  const clock = fakeClock()
  const kept = guard({ clock, retry: false, breaker: { timeoutDuration: 1000 }, timeout: { attempt: 100 } })
  kept.breaker?.trip()
  await clock.advance(1000)
  const test = kept.run(() => new Promise<never>(() => {})).catch(() => 'timed out')
  await clock.advance(100)
  await test
  await clock.advance(1000)
  await expect(kept.run(() => 'up')).resolves.toBe('up')
  expect(kept.breaker?.state).toBe('closed')
})
