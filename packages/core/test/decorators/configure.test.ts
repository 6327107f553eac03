import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CircuitBreaker } from '../../src/breaker/breaker.js'
import * as ft from '../../src/decorators/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

function classes() {
  class Graph {
    calls = 0

    @ft.Retry({ maxRetries: 1, jitter: 0 })
    @ft.CircuitBreaker({ failureThreshold: 5, delay: 1000 })
    async save(failures: number): Promise<number> {
      if (++this.calls <= failures) throw new Error('down')
      return this.calls
    }

    @ft.Retry({ maxRetries: 1, jitter: 0 })
    async load(failures: number): Promise<number> {
      return this.save(failures)
    }
  }
  return Graph
}

const retries = (name: string) => {
  const retry = bench.made[name]?.retry
  return retry ? (retry.maxAttempts ?? 0) - 1 : 'off'
}
const breaker = () => bench.made['Graph.save']?.breaker as CircuitBreaker

describe('overrides of decorators', () => {
  it('take precedence over the decorator, the more specific ones over the others', async () => {
    const Graph = classes()
    const say = async (overrides: ft.Overrides) => {
      bench.configure({ overrides })
      await new Graph().save(0)
      await new Graph().load(0)
      return [retries('Graph.save'), retries('Graph.load')]
    }
    expect(await say({})).toEqual([1, 1])
    expect(await say({ 'Retry/maxRetries': 2 })).toEqual([2, 2])
    expect(await say({ 'Retry/maxRetries': 2, 'Graph/Retry/maxRetries': 3 })).toEqual([3, 3])
    expect(
      await say({ 'Graph/save/Retry/maxRetries': 4, 'Retry/maxRetries': 2, 'Graph/Retry/maxRetries': 3 }),
    ).toEqual([4, 3])
    expect(await say({ 'Other/Retry/maxRetries': 9, 'Graph/other/Retry/maxRetries': 9 })).toEqual([1, 1])
    expect(await say({ 'Retry/enabled': false, 'Graph/save/Retry/enabled': true })).toEqual([1, 'off'])
    expect(await say({ 'Graph/Retry/enabled': false, 'Retry/enabled': true })).toEqual(['off', 'off'])
    expect(await say({})).toEqual([1, 1])
  })

  it('apply the most specific scope for any set of scopes', async () => {
    const Graph = classes()
    const places = ['Retry', 'Graph/Retry', 'Graph/save/Retry'] as const
    await fc.assert(
      fc.asyncProperty(
        fc.record({ 0: fc.nat(50), 1: fc.nat(50), 2: fc.nat(50) }, { requiredKeys: [] }),
        async (said) => {
          const given = Object.entries(said) as ['0' | '1' | '2', number][]
          bench.configure({
            overrides: Object.fromEntries(given.map(([i, value]) => [`${places[i]}/maxRetries`, value])),
          })
          await new Graph().save(0)
          expect(retries('Graph.save')).toBe(said[2] ?? said[1] ?? said[0] ?? 1)
        },
      ),
    )
  })

  it('apply to every decorator', async () => {
    class Graph {
      @ft.Retry()
      @ft.Timeout(5)
      @ft.CircuitBreaker()
      @ft.Bulkhead(1)
      @ft.Fallback({ fallbackMethod: 'one' })
      async save(): Promise<string> {
        throw new TypeError('never')
      }

      async one(): Promise<string> {
        return 'one'
      }

      async two(): Promise<string> {
        return 'two'
      }
    }
    bench.configure({
      overrides: {
        'Timeout/value': '7s',
        'CircuitBreaker/failureRatio': 0.9,
        'CircuitBreaker/minimumCalls': 3,
        'Fallback/fallbackMethod': 'two',
        'Bulkhead/value': 2,
        'Retry/retryOn': ['sql:40'],
        'Retry/name': 'renamed',
      },
    })
    expect(await new Graph().save()).toBe('two')
    const { timeout, breaker: made, retry } = bench.made.renamed ?? {}
    expect(timeout).toMatchObject({ attempt: 7000 })
    expect((made as CircuitBreaker).settings).toMatchObject({ failureRate: 0.9, minimumCalls: 3 })
    expect(retry).toMatchObject({ retryOn: ['sql:40'] })
  })

  it('decide by the last layer between failure count and failure rate', async () => {
    const Graph = classes()
    bench.configure({ overrides: { 'CircuitBreaker/failureRatio': 0.4 } })
    await new Graph().save(0)
    expect(breaker().settings).toMatchObject({ windowType: 'rate', failureRate: 0.4, timeoutDuration: 1000 })
    bench.configure({
      overrides: { 'CircuitBreaker/failureRatio': 0.4, 'Graph/CircuitBreaker/failureThreshold': 7 },
    })
    await new Graph().save(0)
    expect(breaker().settings).toMatchObject({ windowType: 'rolling', failureThreshold: 7 })
  })

  it('that are invalid are all reported and change nothing', async () => {
    const wrong = {
      'Retry/maxAttempts': 3,
      'Retries/maxRetries': 3,
      maxRetries: 3,
      '': 1,
      'Graph/Retry/maxRetries': 'many',
      'Retry/enabled': 'yes',
      'Retry/abortOn': ['no name'],
      'CircuitBreaker/failureRatio': 7,
      'CircuitBreaker/color': 'red',
      'CircuitBreaker/failureThreshold': 0,
      'CircuitBreaker/failOn': [7],
    }
    bench.configure({ overrides: { 'Retry/maxRetries': 2 } })
    const problems = problemsOf(() => bench.configure({ overrides: wrong }))
    expect(problems.map((text) => /^overrides\["[^"]*"\]/.exec(text)?.[0])).toEqual(
      Object.keys(wrong).map((key) => `overrides[${JSON.stringify(key)}]`),
    )
    const Graph = classes()
    await new Graph().save(0)
    expect(retries('Graph.save')).toBe(2)
  })

  it.each([
    { 'CircuitBreaker/slowCallRate': 0.5 },
    { 'CircuitBreaker/slowCallDuration': 10 },
    { 'CircuitBreaker/maxTimeoutDuration': 10 },
  ])('can set one option of a pair that the decorator completes: %o', (overrides) => {
    expect(problemsOf(() => bench.configure({ overrides }))).toEqual([])
  })

  it('that are incompatible with a decorator reject its calls', async () => {
    class Graph {
      @ft.Retry({ maxDelay: 10 })
      async save(): Promise<void> {}
    }
    bench.configure({ overrides: { 'Retry/delay': 20 } })
    await expect(new Graph().save()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    bench.configure()
    await new Graph().save()
  })
})

describe('configureDecorators', () => {
  it('disables and enables all decorators', async () => {
    class Graph {
      @ft.Fallback(() => 'instead')
      @ft.Retry()
      save(): Promise<string> {
        throw new Error('at once')
      }
    }
    bench.configure({ enabled: false })
    expect(() => new Graph().save()).toThrow('at once')
    bench.configure({ enabled: true })
    const answer = new Graph().save()
    await bench.clock.advance(1000)
    expect(await answer).toBe('instead')
  })

  it('replaces the previous configuration', async () => {
    const Graph = classes()
    bench.configure({ enabled: false, overrides: { 'Retry/enabled': false } })
    ft.configureDecorators()
    expect(await new Graph().save(1)).toBe(2)
    expect(bench.made).toEqual({})
  })

  it('applies to later calls, not to those in flight', async () => {
    class Graph {
      calls = 0

      @ft.Retry({ delay: 100, jitter: 0, maxRetries: 1 })
      async save(): Promise<void> {
        this.calls++
        throw new Error('down')
      }
    }
    const graph = new Graph()
    const answer = graph.save().catch((error) => error.message)
    bench.configure({ overrides: { 'Retry/maxRetries': 9 } })
    await bench.clock.advance(10_000)
    expect(await answer).toBe('down')
    expect(graph.calls).toBe(2)
  })

  it('keeps the state of breakers, and the same breaker if its settings are unchanged', async () => {
    const Graph = classes()
    await new Graph().save(0)
    const before = breaker()
    before.trip()
    bench.configure({ overrides: { 'Retry/maxRetries': 5 } })
    await expect(new Graph().save(0)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(breaker()).toBe(before)
    bench.configure({ overrides: { 'CircuitBreaker/failureThreshold': 9 } })
    await expect(new Graph().save(0)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(breaker()).not.toBe(before)
    expect(breaker().settings.failureThreshold).toBe(9)
    bench.configure({ overrides: { 'CircuitBreaker/enabled': false } })
    expect(await new Graph().save(0)).toBe(1)
    bench.configure({ overrides: { 'CircuitBreaker/failureThreshold': 9 } })
    await expect(new Graph().save(0)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('creates new breakers for another clock', async () => {
    const Graph = classes()
    await new Graph().save(0)
    breaker().trip()
    bench.configure({ clock: fakeClock() })
    expect(await new Graph().save(0)).toBe(1)
  })

  it('keeps the slots of a bulkhead with unchanged settings', async () => {
    class Graph {
      @ft.Bulkhead({ value: 1, waitingTaskQueue: 0 })
      async save(until: Promise<void>): Promise<void> {
        await until
      }
    }
    let end = () => {}
    const first = new Graph().save(new Promise((resolve) => (end = resolve)))
    bench.configure({ overrides: { 'Retry/maxRetries': 1 } })
    await expect(new Graph().save(Promise.resolve())).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    bench.configure({ overrides: { 'Bulkhead/value': 2 } })
    await new Graph().save(Promise.resolve())
    end()
    await first
  })

  it('reports all problems of its options', () => {
    const wrong = { runtime: 1, clock: {}, random: 1, enabled: 1, overrides: 1, more: 1 } as never
    expect(problemsOf(() => ft.configureDecorators(wrong))).toHaveLength(6)
  })
})

describe('a decorator runtime', () => {
  it('provides overrides that those of configureDecorators override', async () => {
    const Graph = classes()
    const { clock } = bench
    const onEvent = (event: { type: string }) => bench.events.push(event as never)
    const runtime = { overrides: () => ({ 'Retry/maxRetries': 3, 'Retry/delay': 7 }), onEvent }
    ft.configureDecorators({ clock, runtime, overrides: { 'Retry/maxRetries': 2 } })
    const answer = new Graph().save(9).catch(() => 'failed')
    await clock.advance(21)
    expect(await answer).toBe('failed')
    expect(bench.events.flatMap((event) => (event.type === 'retry_scheduled' ? event.delay : []))).toEqual([
      7, 14,
    ])
    expect(() => ft.configureDecorators({ runtime: { overrides: () => ({ 'Retry/x': 1 }) } })).toThrow(
      'Retry/x',
    )
  })

  it('receives the events of every method, once', async () => {
    const Graph = classes()
    await new Graph().save(1)
    bench.configure({ overrides: { 'Retry/maxRetries': 2 } })
    bench.events.length = 0
    await new Graph().save(1)
    breaker().trip()
    expect(bench.events.map(({ type }) => type)).toEqual([
      'attempt_failed',
      'retry_scheduled',
      'succeeded',
      'breaker_changed',
    ])
    expect(bench.events[0]).toMatchObject({ name: 'Graph.save', attempt: 1 })
  })
})
