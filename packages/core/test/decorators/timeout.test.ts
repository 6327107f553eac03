import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

function target(settings?: Parameters<typeof ft.Timeout>[0]) {
  class Target {
    signals: AbortSignal[] = []

    @ft.Retry({ maxRetries: 1, jitter: 0 })
    @ft.Timeout(settings)
    async work(): Promise<void> {
      const attempt = ft.currentAttempt()
      if (attempt !== undefined) this.signals.push(attempt.signal)
      await new Promise(() => {})
    }
  }
  return new Target()
}

describe('@Timeout', () => {
  it.each([
    [undefined, 1000],
    [{}, 1000],
    [250, 250],
    ['2s' as const, 2000],
    [{ value: 30 }, 30],
  ])('of %o is %i ms', (settings, ms) => {
    void target(settings)
      .work()
      .catch(() => {})
    expect(bench.made['Target.work']?.timeout).toEqual({ attempt: ms, total: 180_000 })
  })

  it('ends each attempt and aborts its signal', async () => {
    const it = target(100)
    const answer = it.work().catch((error) => error)
    await bench.clock.advance(100)
    expect(it.signals.map(({ aborted }) => aborted)).toEqual([true, false])
    await bench.clock.advance(100)
    expect(await answer).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    expect(it.signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  it('treats Infinity as no timeout', () => {
    void target(Number.POSITIVE_INFINITY)
      .work()
      .catch(() => {})
    expect(bench.made['Target.work']?.timeout).toEqual({ attempt: Number.POSITIVE_INFINITY, total: 180_000 })
  })

  it('rejects an invalid duration', () => {
    expect(problemsOf(() => ft.Timeout(0))).toHaveLength(1)
    expect(problemsOf(() => ft.Timeout({ value: 'soon' } as never))).toHaveLength(1)
    expect(problemsOf(() => ft.Timeout({ unit: 's' } as never))).toHaveLength(1)
  })
})

describe('currentAttempt', () => {
  it('is available until the first await, separately for nested calls', async () => {
    const seen: unknown[] = []
    class Target {
      @ft.Retry({ jitter: 0 })
      async outer(): Promise<void> {
        seen.push(ft.currentAttempt()?.number)
        const inner = this.inner()
        seen.push(ft.currentAttempt()?.number)
        await inner
        seen.push(ft.currentAttempt())
        if (seen.length < 5) throw new Error('again')
      }

      @ft.Timeout()
      async inner(): Promise<void> {
        seen.push(ft.currentAttempt()?.number)
      }
    }
    await new Target().outer()
    expect(seen).toEqual([1, 1, 1, undefined, 2, 1, 2, undefined])
    expect(ft.currentAttempt()).toBeUndefined()
  })

  it('is cleared when the method throws synchronously', async () => {
    class Target {
      @ft.Timeout()
      work(): Promise<void> {
        throw new Error('at once')
      }
    }
    await expect(new Target().work()).rejects.toThrow('at once')
    expect(ft.currentAttempt()).toBeUndefined()
  })
})
