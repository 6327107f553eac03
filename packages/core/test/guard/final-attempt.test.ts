import { describe, expect, it } from 'vitest'
import { type Attempt, guard, sessionOf } from '../../src/index.js'
import type { AttemptContext } from '../../src/internal/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, never } from './watch.js'

const finalOnly = (attempt: Attempt): Promise<never> => {
  ;(attempt as AttemptContext).isFinal = true
  return never()
}

describe('an attempt that must not be repeated', () => {
  it.each([
    ['on the fast path', undefined],
    ['in an execution', { context: {} }],
  ])('ends the call at the deadline of the attempt, %s', async (_, options) => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { attempt: 100 } }).run(finalOnly, options))
    await clock.advance(100)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
    expect(sessionOf(call.error)).toMatchObject({ stopped: 'not_retryable', attempts: [{ number: 1 }] })
  })

  it('ends the call with TOTAL_TIMEOUT at the deadline of the call', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { attempt: 200, total: 100 } }).run(finalOnly))
    await clock.advance(100)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'TOTAL_TIMEOUT' } })
    expect(sessionOf(call.error)?.stopped).toBe('deadline')
  })
})

it('delays grow from the first one again after an attempt that restarts the backoff', async () => {
  const clock = fakeClock()
  const delays: number[] = []
  const api = guard({ clock, retry: { maxAttempts: 5, baseDelay: 100 } })
  api.on((event) => event.type === 'retry_scheduled' && delays.push(event.delay))
  const call = fate(
    api.run((attempt) => {
      const isRestart = attempt.number === 2
      ;(attempt as AttemptContext).shouldRestartBackoff = isRestart
      throw Object.assign(new Error('down'), isRestart && { retryAfter: 7 })
    }),
  )
  await clock.advance(1000)
  expect(call.state).toBe('rejected')
  expect(delays).toEqual([100, 7, 100, 200])
})
