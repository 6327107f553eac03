import { describe, expect, it } from 'vitest'
import { guard, Pool, RetryBudget, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

/** A function whose n-th call returns after the n-th time, or throws the n-th error. */
function timed(clock: ReturnType<typeof fakeClock>, ...script: [ms: number, outcome: unknown][]) {
  const signals: AbortSignal[] = []
  const started: number[] = []
  const fn = ({ signal }: { signal: AbortSignal }) =>
    new Promise<unknown>((resolve, reject) => {
      const [ms, outcome] = script[started.length] ?? [Infinity, undefined]
      started.push(clock.now())
      signals.push(signal)
      if (ms < Infinity)
        clock.setTimer(() => (outcome instanceof Error ? reject(outcome) : resolve(outcome)), ms)
    })
  return { fn, signals, started }
}

describe('a hedge', () => {
  it('makes no second call where the first settles in time', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [50, 'first'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(1000)
    expect(await answer).toBe('first')
    expect(started).toEqual([0])
  })

  it('makes a second call after its delay; the first success wins, and the other call is aborted', async () => {
    const clock = fakeClock()
    const { fn, started, signals } = timed(clock, [1000, 'slow'], [30, 'quick'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(130)
    expect(await answer).toBe('quick')
    expect(started).toEqual([0, 100])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(signals[0]?.reason).toMatchObject({ name: 'AbortError' })
  })

  it("returns the first call's value where it still settles first", async () => {
    const clock = fakeClock()
    const { fn, signals } = timed(clock, [150, 'first'], [100, 'second'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(150)
    expect(await answer).toBe('first')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })

  it('makes as many extra calls as max says, one after each delay', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [Infinity, 0], [Infinity, 0], [Infinity, 0], [5, 'fourth'])
    const answer = guard({ clock, hedge: { delay: 10, max: 3 } }).run(fn)
    await clock.advance(100)
    expect(await answer).toBe('fourth')
    expect(started).toEqual([0, 10, 20, 30])
  })

  it('starts the next call at once after a failure', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [20, new Error('down')], [20, 'up'])
    const answer = guard({ clock, retry: false, hedge: { delay: 100 } }).run(fn)
    await clock.advance(40)
    expect(await answer).toBe('up')
    expect(started).toEqual([0, 20])
  })

  it('makes no second call after an error that is not retryable', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [20, new TypeError('bug')], [20, 'up'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    answer.catch(() => {})
    await clock.advance(500)
    await expect(answer).rejects.toThrow('bug')
    expect(started).toEqual([0])
  })

  it('fails when all of its calls have failed, with the last error, and is retried as one attempt', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [20, new Error('one')], [5, new Error('two')], [1, 'up'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(25 + 1000 + 1)
    expect(await answer).toBe('up')
    expect(started).toEqual([0, 20, 1025])
  })

  it('records each failed call', async () => {
    const clock = fakeClock()
    const { fn } = timed(clock, [20, new Error('one')], [5, new Error('two')])
    const answer = guard({ clock, retry: false, hedge: { delay: 10 } })
      .run(fn)
      .catch((e: unknown) => e)
    await clock.advance(100)
    const error = await answer
    expect((error as Error).message).toBe('one')
    expect(
      sessionOf(error)?.attempts.map(({ number, duration, error: e }) => [
        number,
        duration,
        (e as Error).message,
      ]),
    ).toEqual([
      [1, 5, 'two'],
      [1, 20, 'one'],
    ])
  })

  it('never causes an unhandled rejection of a slower call', async () => {
    const clock = fakeClock()
    const unhandled: unknown[] = []
    const hear = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', hear)
    const { fn } = timed(clock, [500, new Error('late')], [10, 'quick'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(1000)
    expect(await answer).toBe('quick')
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', hear)
    expect(unhandled).toEqual([])
  })

  it('withdraws from the budget, and makes no call where that is exhausted', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 1, window: '1s' })
    const once = timed(clock, [Infinity, 0], [Infinity, 0])
    const answer = guard({
      clock,
      budget,
      retry: false,
      timeout: { attempt: 500 },
      hedge: { delay: 10, max: 5 },
    }).run(once.fn)
    answer.catch(() => {})
    await clock.advance(500)
    await expect(answer).rejects.toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    expect(once.started).toEqual([0, 10])
    expect(once.signals.every(({ aborted }) => aborted)).toBe(true)
  })

  it('aborts all of its calls when the caller aborts', async () => {
    const clock = fakeClock()
    const { fn, signals } = timed(clock, [Infinity, 0], [Infinity, 0])
    const controller = new AbortController()
    const answer = guard({ clock, hedge: { delay: 10 } }).run(fn, { signal: controller.signal })
    answer.catch(() => {})
    await clock.advance(50)
    controller.abort(new Error('enough'))
    await expect(answer).rejects.toThrow('enough')
    expect(signals.map(({ reason }) => (reason as Error).message)).toEqual(['enough', 'enough'])
    await clock.advance(1000)
    expect(signals).toHaveLength(2)
  })

  it.each(['a deadline', 'the caller'])(
    'says where it had gone and what it had noted when %s ends it',
    async (by) => {
      const clock = fakeClock()
      const pool = new Pool({ id: 'proxies', clock, members: ['a', 'b'].map((id) => ({ id, value: id })) })
      const controller = new AbortController()
      const twice = guard({ clock, pool, retry: false, timeout: { attempt: 500 }, hedge: { delay: 10 } })
      const answer = twice.run(
        ({ member, note }) => {
          note({ asked: member.id })
          return new Promise(() => {})
        },
        { signal: controller.signal },
      )
      const ended = answer.catch((error) => error)
      await clock.advance(by === 'a deadline' ? 500 : 100)
      controller.abort(new Error('enough'))
      expect(sessionOf(await ended)?.attempts).toMatchObject([
        { number: 1, memberId: 'a', context: { asked: 'a' }, duration: by === 'a deadline' ? 500 : 100 },
      ])
      const failureCount = by === 'a deadline' ? 1 : 0
      expect([pool.stats('a'), pool.stats('b')]).toMatchObject([{ failureCount }, { failureCount }])
    },
  )

  it('keeps its bulkhead slot until the slower calls have settled', async () => {
    const clock = fakeClock()
    const { fn } = timed(clock, [500, 'slow'], [10, 'quick'])
    const only = guard({ clock, hedge: { delay: 100 }, bulkhead: { limit: 1 } })
    const answer = only.run(fn)
    await clock.advance(110)
    expect(await answer).toBe('quick')
    await expect(only.run(() => 1)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    await clock.advance(400)
    expect(await only.run(() => 1)).toBe(1)
  })

  it('counts as one result for the breaker', async () => {
    const clock = fakeClock()
    const { fn } = timed(clock, [20, new Error('one')], [5, new Error('two')])
    const only = guard({ clock, retry: false, breaker: { failureThreshold: 2 }, hedge: { delay: 100 } })
    const answer = only.run(fn)
    answer.catch(() => {})
    await clock.advance(100)
    await expect(answer).rejects.toThrow('two')
    expect(only.breaker?.failureCount).toBe(1)
  })

  it('works for wrapped functions', async () => {
    const clock = fakeClock()
    const seen: string[] = []
    const slow = guard({ clock, hedge: { delay: 10 } }).wrap(async (name: string) => {
      seen.push(name)
      if (seen.length === 1) await new Promise(() => {})
      return name
    })
    const answer = slow('x')
    await clock.advance(10)
    expect(await answer).toBe('x')
    expect(seen).toEqual(['x', 'x'])
  })

  it.each([
    [{}, /hedge\.delay: expected a duration of 0 or more, .*, got undefined$/],
    [{ delay: -1 }, /hedge\.delay: expected .*, got -1$/],
    [{ delay: 1, max: 0 }, 'hedge.max: expected a whole number from 1, got 0'],
  ])('rejects %j', (hedge, problem) => {
    expect(() => guard({ hedge: hedge as { delay: number } })).toThrow(problem)
  })

  it('makes no other call once the breaker has opened', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [500, 'first'])
    const g = guard({ clock, retry: false, hedge: { delay: 100 }, breaker: {} })
    const answer = g.run(fn)
    await clock.advance(50)
    g.breaker?.trip()
    await clock.advance(1000)
    expect(await answer).toBe('first')
    expect(started).toEqual([0])
  })

  it('is not a second probe of a half-open breaker', async () => {
    const clock = fakeClock()
    const { fn, started } = timed(clock, [100, 'tested'])
    const breaker = { timeoutDuration: 1000, halfOpenMax: 1 }
    const g = guard({ clock, hedge: { delay: 10, max: 3 }, breaker })
    g.breaker?.trip()
    await clock.advance(1000)
    const answer = g.run(fn)
    await clock.advance(100)
    expect(await answer).toBe('tested')
    expect(started).toEqual([1000])
  })

  it('waits for a Retry-After', async () => {
    const clock = fakeClock()
    const busy = Object.assign(new Error('busy'), { status: 503, headers: { 'retry-after': '5' } })
    const { fn, started } = timed(clock, [0, busy], [0, 'ready'])
    const answer = guard({ clock, hedge: { delay: 100 } }).run(fn)
    await clock.advance(6000)
    expect(await answer).toBe('ready')
    expect(started).toEqual([0, 5000])
  })

  it('does not wait for a Retry-After where respectRetryAfter is false', async () => {
    const clock = fakeClock()
    const busy = Object.assign(new Error('busy'), { status: 503, headers: { 'retry-after': '5' } })
    const { fn, started } = timed(clock, [0, busy], [0, 'ready'])
    const answer = guard({ clock, hedge: { delay: 100 }, retry: { respectRetryAfter: false } }).run(fn)
    await clock.advance(0)
    expect(await answer).toBe('ready')
    expect(started).toEqual([0, 0])
  })

  it('withdraws nothing from the budget while no member is available, and calls one when it is', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 1 })
    const pool = new Pool({ id: 'p', clock, members: ['a', 'b'].map((id) => ({ id, value: id })) })
    pool.drain('b')
    pool.breaker('a').trip()
    await clock.advance(30_000)
    const { fn, started } = timed(clock, [1000, 'late'], [10, 'quick'])
    const answer = guard({ clock, pool, budget, hedge: { delay: 100 } }).run(fn)
    await clock.advance(450)
    expect([budget.left, started.length]).toEqual([10, 1])
    pool.enable('b')
    await clock.advance(100)
    expect(await answer).toBe('quick')
    expect([budget.left, started.at(-1)]).toEqual([9, 30_500])
  })

  it('selects no member where the budget is exhausted', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 0 })
    const pool = new Pool({ id: 'p', clock, members: ['a', 'b'].map((id) => ({ id, value: id })) })
    pool.breaker('b').trip()
    await clock.advance(30_000)
    const { fn } = timed(clock, [1000, 'first'])
    const answer = guard({ clock, pool, budget, hedge: { delay: 100 } }).run(fn)
    await clock.advance(1000)
    expect(await answer).toBe('first')
    expect(pool.status('b')).toBe('open') // no probe was made
  })
})
