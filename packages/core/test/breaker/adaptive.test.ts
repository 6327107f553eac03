import { describe, expect, it } from 'vitest'
import type { CircuitBreakerOptions } from '../../src/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { admitted, fail, made, succeed } from './setup.js'

/** An adaptive breaker with these results, each too old to be in its window. */
async function withHistory(
  options: CircuitBreakerOptions,
  ...history: [successes: number, failures: number][]
) {
  const { breaker, clock } = made({ adaptive: true, windowDuration: 1, ...options })
  for (const [successes, failures] of history) {
    succeed(breaker, successes)
    for (let i = 0; i < failures; i++) {
      fail(breaker)
      await clock.advance(2)
    }
  }
  await clock.advance(2)
  return { breaker, clock }
}

/** How many failures at the same time open the breaker. */
async function patience(options: CircuitBreakerOptions, ...history: [successes: number, failures: number][]) {
  const { breaker } = await withHistory(options, ...history)
  let failures = 0
  while (breaker.state === 'closed') {
    fail(breaker)
    failures++
  }
  return failures
}

describe('an adaptive breaker', () => {
  it('has the configured threshold until it has 50 results', async () => {
    expect(await patience({ failureThreshold: 10 })).toBe(10)
    // The fifth failure is the 50th result, of which none was a success: the threshold falls to 10 · 0.4.
    expect(await patience({ failureThreshold: 10 }, [0, 45])).toBe(5)
    expect(await patience({ failureThreshold: 10 }, [0, 46])).toBe(4)
  })

  it('keeps the threshold for a target that succeeds nine times in ten', async () => {
    // 190 of 200 when the tenth failure comes.
    expect(await patience({ failureThreshold: 10 }, [200, 0])).toBe(10)
    // 90 of 100, exactly.
    expect(await patience({ failureThreshold: 10 }, [90, 0])).toBe(10)
  })

  it('scales the threshold by the success rate divided by 0.9', async () => {
    // 144 of 200 is 0.72, and 0.72 / 0.9 is 0.8.
    expect(await patience({ failureThreshold: 10 }, [144, 48])).toBe(8)
    // 108 of 200 is 0.54, and 0.54 / 0.9 is 0.6.
    expect(await patience({ failureThreshold: 10 }, [108, 86])).toBe(6)
  })

  it('rounds the scaled threshold to the nearest', async () => {
    // 3 · 0.8 is 2.4; 7 · 0.8 is 5.6
    expect(await patience({ failureThreshold: 3 }, [144, 53])).toBe(2)
    expect(await patience({ failureThreshold: 7 }, [144, 50])).toBe(6)
  })

  it('never lowers the threshold by more than six tenths', async () => {
    expect(await patience({ failureThreshold: 100 }, [0, 200])).toBe(40)
    // 72 of 200 is 0.36, and 0.36 / 0.9 is 0.4: the bound itself.
    expect(await patience({ failureThreshold: 100 }, [72, 88])).toBe(40)
  })

  it('never opens with fewer than two failures', async () => {
    expect(await patience({ failureThreshold: 3 }, [0, 200])).toBe(2)
    expect(await patience({ failureThreshold: 2 }, [0, 200])).toBe(2)
    expect(await patience({ failureThreshold: 1 }, [200, 0])).toBe(2)
  })

  it('uses the last 200 results and no more', async () => {
    expect(await patience({ failureThreshold: 10 }, [0, 1000], [200, 0])).toBe(10)
    expect(await patience({ failureThreshold: 10 }, [1000, 0], [0, 200])).toBe(4)
    // One failure more than nine tenths allow, at the very edge of the 200.
    expect(await patience({ failureThreshold: 100 }, [0, 1], [180, 0], [0, 10])).toBe(
      await patience({ failureThreshold: 100 }, [180, 0], [0, 10]),
    )
  })

  it('agrees with the formula, computed again for every result', async () => {
    const random = seededRandom(7)
    for (let round = 0; round < 40; round++) {
      const failureThreshold = 1 + Math.floor(random() * 20)
      const rate = random()
      const { breaker, clock } = made({
        adaptive: true,
        windowDuration: 50,
        timeoutDuration: 1,
        failureThreshold,
      })
      const results: boolean[] = []
      let window: number[] = []
      for (let i = 0; i < 300; i++) {
        const success = random() < rate
        const closed = breaker.state === 'closed'
        if (success) succeed(breaker)
        else fail(breaker)
        results.push(success)
        const last = results.slice(-200)
        const p = last.filter(Boolean).length / last.length
        const scale = Math.min(Math.max(p / 0.9, 0.4), 1)
        const threshold =
          last.length < 50 ? failureThreshold : Math.max(2, Math.round(failureThreshold * scale))
        if (closed) {
          if (!success) window.push(clock.now())
          window = window.filter((time) => time >= clock.now() - 50)
          expect(breaker.state).toBe(!success && window.length >= threshold ? 'open' : 'closed')
        }
        if (breaker.state !== 'closed') window = []
        await clock.advance(
          closed && random() < 0.3 && breaker.state === 'closed' ? 0 : Math.ceil(random() * 30),
        )
      }
    }
  })

  it('counts probes while it is half open', async () => {
    const { breaker, clock } = await withHistory({ failureThreshold: 10, timeoutDuration: 1 }, [0, 45])
    breaker.trip()
    for (let i = 0; i < 4; i++) {
      await clock.advance(1)
      fail(breaker)
    }
    await clock.advance(1)
    succeed(breaker)
    // The success was the 50th: 1 of 50, so four failures are enough.
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('does not count ignored calls, nor calls while it is disabled', async () => {
    const { breaker } = await withHistory({ failureThreshold: 10 }, [0, 40])
    for (let i = 0; i < 50; i++) admitted(breaker).ignore()
    breaker.disable()
    fail(breaker, 50)
    breaker.enable()
    fail(breaker, 9)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('keeps its results when it is reset', async () => {
    const { breaker } = await withHistory({ failureThreshold: 10 }, [0, 60])
    breaker.reset()
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('adapts a consecutive window too', async () => {
    const { breaker } = made({ adaptive: true, windowType: 'consecutive', failureThreshold: 10 })
    for (let i = 0; i < 60; i++) {
      fail(breaker)
      succeed(breaker)
    }
    // 60 of 125 when the fifth failure in a row comes: round(10 · 0.48 / 0.9) is 5.
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('does not change a rate window', () => {
    const { breaker } = made({ adaptive: true, failureRate: 0.9, minimumCalls: 10 })
    succeed(breaker, 30)
    fail(breaker, 60)
    expect(breaker.state).toBe('closed')
  })
})

describe('a breaker that is not adaptive', () => {
  it('has the same threshold for any history', async () => {
    expect(await patience({ failureThreshold: 10, adaptive: false }, [0, 200])).toBe(10)
  })
})
