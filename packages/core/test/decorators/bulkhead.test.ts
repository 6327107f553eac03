import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

/** A class whose method ends on request. */
function target(settings?: Parameters<typeof ft.Bulkhead>[0], retry: ft.RetrySettings = { maxRetries: 0 }) {
  class Target {
    static running = 0
    static readonly ends: ((error?: Error) => void)[] = []

    @ft.Bulkhead(settings)
    @ft.Retry(retry)
    @ft.CircuitBreaker({ failureThreshold: 1 })
    @ft.Timeout(1000)
    async work(): Promise<void> {
      Target.running++
      await new Promise<void>((resolve, reject) => {
        Target.ends.push((error) => (error ? reject(error) : resolve()))
      }).finally(() => Target.running--)
    }
  }
  return Target
}

const codes = (results: PromiseSettledResult<unknown>[]) =>
  results.map((result) => (result.status === 'rejected' ? result.reason.code : 'done'))

describe('@Bulkhead', () => {
  it.each([
    [undefined, 10, 10],
    [{}, 10, 10],
    [2, 2, 10],
    [{ value: 3, waitingTaskQueue: 0 }, 3, 0],
  ])('of %o admits %i calls and queues %i', async (settings, running, waiting) => {
    const Target = target(settings)
    const calls = Array.from({ length: running + waiting + 1 }, () => new Target().work())
    const results = Promise.allSettled(calls)
    await expect(calls.at(-1)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    expect(Target.running).toBe(running)
    for (let i = 0; i < running + waiting; i++) {
      Target.ends[i]?.()
      await bench.clock.advance(0)
    }
    expect(codes(await results).filter((code) => code !== 'done')).toEqual(['BULKHEAD_FULL'])
  })

  it('rejects without a retry and without a failure of the breaker when it is full', async () => {
    const Target = target({ value: 1, waitingTaskQueue: 0 }, { maxRetries: 3, delay: 10, jitter: 0 })
    const first = new Target().work()
    await expect(new Target().work()).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    Target.ends[0]?.()
    await first
    expect(bench.events.filter(({ type }) => /breaker|scheduled/.test(type))).toEqual([])
  })

  it('is retried when it is full if retryOn matches', async () => {
    const Target = target(
      { value: 1, waitingTaskQueue: 0 },
      { retryOn: ['BULKHEAD_FULL'], delay: 10, jitter: 0 },
    )
    const first = new Target().work()
    const second = new Target().work()
    await bench.clock.advance(5)
    Target.ends[0]?.()
    await bench.clock.advance(5)
    Target.ends[1]?.()
    await Promise.all([first, second])
  })

  it('releases its slot between attempts', async () => {
    const Target = target({ value: 1, waitingTaskQueue: 0 }, { delay: 100, jitter: 0 })
    bench.configure({ overrides: { 'CircuitBreaker/enabled': false } })
    const first = new Target().work()
    await bench.clock.advance(0)
    Target.ends[0]?.(new Error('down'))
    await bench.clock.advance(50)
    const second = new Target().work()
    await bench.clock.advance(0)
    Target.ends[1]?.()
    await second
    await bench.clock.advance(50)
    Target.ends[2]?.()
    await first
  })

  it('includes the time in the queue in the attempt timeout, which ends the waiting', async () => {
    const Target = target({ value: 1, waitingTaskQueue: 1 })
    const first = new Target().work()
    const second = new Target().work()
    const ends = Promise.allSettled([first, second])
    await bench.clock.advance(1000)
    expect(codes(await ends)).toEqual(['ATTEMPT_TIMEOUT', 'ATTEMPT_TIMEOUT'])
    // The first call ignores its signal: it holds its slot until it ends, but the queue is free.
    expect(Target.running).toBe(1)
    bench.configure({ overrides: { 'CircuitBreaker/enabled': false } })
    const third = new Target().work()
    await bench.clock.advance(0)
    expect(Target.running).toBe(1)
    Target.ends[0]?.()
    await bench.clock.advance(0)
    Target.ends[1]?.()
    await third
  })

  it('reports all problems of its settings', () => {
    expect(problemsOf(() => ft.Bulkhead({ value: 0, waitingTaskQueue: -1, limit: 1 } as never))).toHaveLength(
      3,
    )
    expect(problemsOf(() => ft.Bulkhead(0.5))).toHaveLength(1)
  })
})
