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
