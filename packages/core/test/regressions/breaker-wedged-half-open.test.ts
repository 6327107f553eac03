import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, opened, succeed } from '../breaker/setup.js'

it('a test that hangs does not keep a breaker half open for ever', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker)
  await clock.advance(1000)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('nor do as many hung tests as it takes at a time', async () => {
  const { breaker, clock } = opened({ halfOpenMax: 3 })
  await clock.advance(1000)
  for (let i = 0; i < 3; i++) admitted(breaker)
  expect(breaker.admit()).toBeUndefined()
  await clock.advance(1000)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('nor does one that is ignored', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker).ignore()
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('nor does one whose error says nothing about the target', async () => {
  const { breaker, clock } = opened()
  await clock.advance(1000)
  admitted(breaker).failure(Object.assign(new Error('too many'), { status: 429 }))
  succeed(breaker)
  expect(breaker.state).toBe('closed')
})

it('nor does one whose caller aborts', async () => {
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

it('nor does one that its own deadline ends', async () => {
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
