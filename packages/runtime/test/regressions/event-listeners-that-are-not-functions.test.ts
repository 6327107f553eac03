import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('events.on: rejects what is not a listener, and an unsubscribed listener gets no more events', async () => {
  const { hf } = await start(QUICK)
  const on = hf.events.on as (type: string, listener: unknown) => () => void
  expect(() => on('retry_failure', undefined)).toThrow(/expected a function/)
  expect(() => on('retry_failed', () => {})).toThrow(/expected the type \* or one of/)
  const received: string[] = []
  let finish = () => {}
  const off = hf.events.on('*', ({ eventType }) => {
    received.push(eventType)
    return new Promise<void>((resolve) => {
      finish = resolve
    })
  })
  await failing(hf, 'quick', refused)
  off()
  finish()
  await Promise.resolve()
  expect(received).toEqual(['retry_attempt'])
})
