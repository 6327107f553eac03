import { HoldfastError } from 'holdfast'
import { scripted } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { eventually, setup } from '../dead-letters/setup.js'

// A result was given up 0.3 seconds after the store had failed. The entry stayed leased for five minutes, and then its handler, which
// had succeeded, was called again.

async function unavailable() {
  const parts = await setup()
  const { dlqId } = await parts.enqueue('a')
  const handler = scripted(['done'])
  parts.queue.handle('write', handler)
  const { deadLetters } = parts.kit.store
  const settle = deadLetters.settle.bind(deadLetters)
  let attempts = 0
  const outage = { isOver: false }
  deadLetters.settle = (...args) => {
    attempts++
    if (outage.isOver) return settle(...args)
    return Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'the breaker of the database is open'))
  }
  const replay = parts.queue.replay(dlqId)
  replay.catch(() => {})
  await eventually(() => expect(attempts).toBe(1))
  return { ...parts, handler, outage, replay, attempts: () => attempts }
}

it('records the result of a replay after the store was unavailable for 30 seconds', async () => {
  const { clock, events, handler, outage, replay } = await unavailable()
  await clock.advance(30_000)
  outage.isOver = true
  await clock.advance(10_000)
  expect((await replay).status).toBe('completed')
  expect(handler.calls).toBe(1)
  expect(events.filter(({ eventType }) => eventType === 'dead_letter_replayed')).toHaveLength(1)
})

it('rejects a replay if the store stays unavailable', async () => {
  const { clock, replay, attempts } = await unavailable()
  await clock.advance(60_000)
  await expect(replay).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(attempts()).toBe(16)
})

it('does not wait for the store once the queue closes', async () => {
  const { clock, queue, replay, attempts } = await unavailable()
  await clock.advance(20_000)
  const before = attempts()
  await queue.close()
  await expect(replay).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(attempts()).toBe(before + 1)
})
