import { describe, expect, it } from 'vitest'
import type { CircuitBreaker } from '../../src/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { admitted, fail, kept, made, succeed } from './setup.js'

const NEVER = 1_000_000

describe('a rate window', () => {
  it('can open with the tenth call by default', () => {
    const { breaker } = made({ failureRate: 0.5 })
    fail(breaker, 9)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(10)
  })

  it('can open with minimumCalls calls', () => {
    const { breaker } = made({ failureRate: 0.5, minimumCalls: 3 })
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('opens when the rate is reached exactly', () => {
    const { breaker } = made({ failureRate: 0.3, minimumCalls: 10 })
    succeed(breaker, 7)
    fail(breaker, 3)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
  })

  it('stays closed below the rate', () => {
    const { breaker } = made({ failureRate: 0.31, minimumCalls: 10 })
    succeed(breaker, 7)
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
  })

  it('opens at rate 1 only when every call failed', () => {
    const { breaker } = made({ failureRate: 1, minimumCalls: 4 })
    succeed(breaker)
    fail(breaker, 50)
    expect(breaker.state).toBe('closed')
    breaker.reset()
    fail(breaker, 4)
    expect(breaker.state).toBe('open')
  })

  it('can open with a success too', () => {
    const { breaker } = made({ failureRate: 0.5, minimumCalls: 4 })
    fail(breaker, 3)
    succeed(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
  })

  it('ignores failureThreshold', () => {
    const { breaker } = made({ failureRate: 0.5, failureThreshold: 1, minimumCalls: 20 })
    fail(breaker, 19)
    expect(breaker.state).toBe('closed')
  })

  it('opens at one half where no rate is given', () => {
    const { breaker } = made({ windowType: 'rate' })
    succeed(breaker, 6)
    fail(breaker, 5)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it.each(['rolling', 'consecutive'] as const)(
    'is implied by failureRate even where windowType is %s',
    (windowType) => {
      const { breaker } = made({ windowType, failureRate: 0.5 })
      expect(breaker.snapshot().windowType).toBe('rate')
    },
  )

  it('does not count an ignored call', () => {
    const { breaker } = made({ failureRate: 0.5, minimumCalls: 4 })
    fail(breaker, 3)
    for (let i = 0; i < 10; i++) admitted(breaker).ignore()
    expect(breaker.state).toBe('closed')
  })

  it('still counts a call exactly as old as the window is long, and no older one', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 3, windowDuration: 1000 })
    fail(breaker, 2)
    await clock.advance(1000)
    expect(breaker.failureCount).toBe(2)
    await clock.advance(1)
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it('does not count expired calls for minimumCalls', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 4, windowDuration: 1000 })
    succeed(breaker, 3)
    await clock.advance(1001)
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('does not count expired successes in the rate', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 4, windowDuration: 1000 })
    succeed(breaker, 96)
    await clock.advance(500)
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    await clock.advance(501)
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(5)
  })

  it('does not open by time alone, only with a result', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 4, windowDuration: 1000 })
    succeed(breaker, 96)
    await clock.advance(500)
    fail(breaker, 4)
    await clock.advance(501)
    admitted(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('is emptied when the breaker closes', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 4, timeoutDuration: 10 })
    fail(breaker, 4)
    await clock.advance(10)
    succeed(breaker)
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
  })
})

describe('slow calls', () => {
  const slowly = async (
    { breaker, clock }: ReturnType<typeof made>,
    ms: number,
    end: 'success' | 'failure',
  ) => {
    const permit = admitted(breaker)
    await clock.advance(ms)
    permit[end]()
  }

  it('open the breaker when slowCallRate is reached', async () => {
    const it = made({ slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 4 })
    succeed(it.breaker, 2)
    await slowly(it, 100, 'success')
    expect(it.breaker.state).toBe('closed')
    await slowly(it, 500, 'success')
    expect(it.breaker.state).toBe('open')
    expect(it.breaker.failureCount).toBe(0)
  })

  it('are those that take slowCallDuration or longer', async () => {
    const it = made({ slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 2 })
    for (let i = 0; i < 20; i++) await slowly(it, 99, 'success')
    expect(it.breaker.state).toBe('closed')
    for (let i = 0; i < 20; i++) await slowly(it, 100, 'success')
    expect(it.breaker.state).toBe('open')
  })

  it('alone decide where only slowCallRate is given', () => {
    const { breaker } = made({ slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 4 })
    expect(breaker.snapshot().windowType).toBe('rate')
    fail(breaker, 50)
    expect(breaker.state).toBe('closed')
  })

  it('and failed calls each have their own rate', async () => {
    const options = { slowCallDuration: 100, slowCallRate: 0.9, failureRate: 0.5, minimumCalls: 4 } as const
    const failing = made(options)
    succeed(failing.breaker, 2)
    fail(failing.breaker, 2)
    expect(failing.breaker.state).toBe('open')
    const slow = made(options)
    succeed(slow.breaker, 2)
    for (let i = 0; i < 2; i++) await slowly(slow, 100, 'success')
    expect(slow.breaker.state).toBe('closed')
  })

  it('that fail count as slow and as failed', async () => {
    const it = made({ slowCallDuration: 100, slowCallRate: 0.5, failureRate: 0.9, minimumCalls: 4 })
    succeed(it.breaker, 2)
    await slowly(it, 100, 'failure')
    await slowly(it, 100, 'failure')
    expect(it.breaker.state).toBe('open')
    expect(it.breaker.failureCount).toBe(2)
  })

  it('expire like other calls', async () => {
    const it = made({ slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 2, windowDuration: 1000 })
    await slowly(it, 100, 'success')
    await it.clock.advance(1001)
    succeed(it.breaker, 2)
    expect(it.breaker.state).toBe('closed')
  })

  it('are measured from when the call was admitted, not from when the one before it ended', async () => {
    const { breaker, clock } = made({ slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 2 })
    const first = admitted(breaker)
    await clock.advance(60)
    const second = admitted(breaker)
    await clock.advance(50)
    second.success()
    first.success()
    expect(breaker.state).toBe('open')
    expect(breaker.snapshot().failureCount).toBe(0)
  })
})

describe('a rate window under heavy traffic', () => {
  const entries = (breaker: CircuitBreaker) => breaker.snapshot().failureWindow.length / 4

  it('never holds more than 257 entries', async () => {
    const { breaker, clock } = made({ failureRate: 1, minimumCalls: NEVER, windowDuration: 2560 })
    let most = 0
    for (let i = 0; i < 3000; i++) {
      fail(breaker, 3)
      most = Math.max(most, entries(breaker))
      expect(kept(breaker)).toBeLessThanOrEqual(2 * 257 * 4)
      await clock.advance(1)
    }
    expect(most).toBeLessThanOrEqual(257)
    expect(most).toBeGreaterThan(250)
  })

  it('holds 257 where calls come exactly a 256th of the window apart', async () => {
    const { breaker, clock } = made({ failureRate: 1, minimumCalls: NEVER, windowDuration: 2560 })
    fail(breaker)
    for (let i = 0; i < 600; i++) {
      await clock.advance(10)
      fail(breaker)
    }
    expect(entries(breaker)).toBe(257)
    expect(breaker.failureCount).toBe(257)
  })

  it('joins calls that are closer into one entry, and not two that are a 256th apart', async () => {
    const { breaker, clock } = made({ failureRate: 1, minimumCalls: NEVER, windowDuration: 2560 })
    fail(breaker)
    await clock.advance(9)
    fail(breaker)
    expect(entries(breaker)).toBe(1)
    await clock.advance(1)
    fail(breaker)
    expect(entries(breaker)).toBe(2)
    expect(breaker.failureCount).toBe(3)
  })

  it('is exact except for calls in the oldest 256th of the window', async () => {
    const windowDuration = 2560
    const random = seededRandom(20_260_101)
    const { breaker, clock } = made({ failureRate: 1, minimumCalls: NEVER, windowDuration })
    const failures: number[] = []
    for (let i = 0; i < 5000; i++) {
      if (random() < 0.3) {
        fail(breaker)
        failures.push(clock.now())
      } else succeed(breaker)
      if (random() < 0.7) await clock.advance(random() * 5)
      const since = (age: number) => failures.filter((time) => time >= clock.now() - age).length
      expect(breaker.failureCount).toBeLessThanOrEqual(since(windowDuration))
      expect(breaker.failureCount).toBeGreaterThanOrEqual(since(windowDuration - windowDuration / 256))
    }
    expect(failures.length).toBeGreaterThan(1000)
  })

  it('opens at the rate that its calls have', async () => {
    const { breaker, clock } = made({ failureRate: 0.5, minimumCalls: 10, windowDuration: 1000 })
    for (let i = 0; i < 3000; i++) {
      succeed(breaker, 6)
      fail(breaker, 5)
      await clock.advance(1)
    }
    expect(breaker.state).toBe('closed')
    for (let i = 0; i < 1200 && breaker.state === 'closed'; i++) {
      fail(breaker)
      if (i % 10 === 0) await clock.advance(1)
    }
    expect(breaker.state).toBe('open')
  })
})
