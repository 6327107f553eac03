import { describe, expect, it } from 'vitest'
import { CircuitBreaker, guard, isHoldfastError } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const down = () => {
  throw new Error('down')
}

describe('a breaker with another clock than its guard', () => {
  it('admits a probe when its own open time is over', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'b', clock, failureThreshold: 1, timeoutDuration: '1h' })
    const kept = guard({ breaker, clock: fakeClock(), retry: false })
    await expect(kept.run(down)).rejects.toThrow('down')
    await clock.advance(3_600_000)
    expect(await kept.run(() => 'up')).toBe('up')
    expect(breaker.state).toBe('closed')
  })

  it('stays open while only the clock of the guard is ahead', async () => {
    const ahead = fakeClock()
    await ahead.advance(3_600_000)
    const breaker = new CircuitBreaker({ id: 'b', clock: fakeClock(), failureThreshold: 1 })
    const kept = guard({ breaker, clock: ahead, retry: false })
    await expect(kept.run(down)).rejects.toThrow('down')
    const refused: unknown = await kept.run(() => 'up').catch((error: unknown) => error)
    expect(isHoldfastError(refused, 'CIRCUIT_OPEN')).toBe(true)
  })

  it('measures slow calls with its own clock', async () => {
    const clock = fakeClock()
    const ahead = fakeClock()
    await ahead.advance(3_600_000)
    const breaker = new CircuitBreaker({
      id: 'b',
      clock,
      slowCallDuration: 100,
      slowCallRate: 1,
      minimumCalls: 1,
    })
    const call = guard({ breaker, clock: ahead, retry: false }).run(
      () => new Promise<void>((resolve) => clock.setTimer(resolve, 100)),
    )
    await clock.advance(100)
    await call
    expect(breaker.state).toBe('open')
  })

  it('counts a probe that ended with an attempt timeout', async () => {
    const ahead = fakeClock()
    await ahead.advance(3_600_000)
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'b', clock, timeoutDuration: 1000 })
    const kept = guard({ breaker, clock: ahead, retry: false, timeout: { attempt: 50 } })
    breaker.trip()
    await clock.advance(1000)
    const call = kept.run(() => new Promise<never>(() => {})).catch((error: { code: string }) => error.code)
    await ahead.advance(50)
    expect(await call).toBe('ATTEMPT_TIMEOUT')
    expect(breaker.state).toBe('open')
  })
})
