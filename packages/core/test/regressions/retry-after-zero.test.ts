// Retry-After 0 was treated as absent, and the backoff was the delay instead.
import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate } from '../guard/watch.js'

it.each([
  ['0 seconds', { headers: { 'retry-after': '0' } }],
  ['the number 0', { headers: { 'retry-after': 0 } }],
  ['0 milliseconds', { headers: { 'retry-after-ms': '0' } }],
  ['a reset in 0 seconds', { headers: { 'x-ratelimit-reset': '0' } }],
  ['a Response', { response: new Response(null, { headers: { 'retry-after': '0' } }) }],
  ['a retryAfter of 0', { retryAfter: 0 }],
])('a Retry-After of 0 starts the next attempt at once: %s', async (_, facts) => {
  const clock = fakeClock()
  const call = fate(
    guard({ clock }).run(({ number }) => {
      if (number === 1) throw errorWith({ status: 503, ...facts })
      return 'up'
    }),
  )
  await clock.advance(0)
  expect(call).toEqual({ state: 'fulfilled', value: 'up' })
})
