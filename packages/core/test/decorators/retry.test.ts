import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { sessionOf } from '../../src/session/session.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

/** A class whose method fails a given number of times. */
function failing(settings?: ft.RetrySettings, error = () => new Error('down')) {
  class Target {
    calls = 0

    @ft.Retry(settings)
    async work(failures: number): Promise<number> {
      if (++this.calls <= failures) throw error()
      return this.calls
    }
  }
  return new Target()
}

describe('@Retry', () => {
  it('has the defaults of MicroProfile, doubles delays and adds jitter', async () => {
    await failing().work(0)
    expect(bench.made['Target.work']).toMatchObject({
      name: 'Target.work',
      timeout: { total: 180_000 },
      retry: {
        maxAttempts: 4,
        backoffType: 'exponential',
        baseDelay: 0,
        multiplier: 2,
        maxDelay: Number.POSITIVE_INFINITY,
        jitterType: 'additive',
        jitterMin: 0,
        jitterMax: 200,
      },
    })
    expect(bench.made['Target.work']?.retry).not.toHaveProperty('retryOn')
    expect(bench.made['Target.work']?.retry).not.toHaveProperty('abortOn')
    expect(bench.made['Target.work']).not.toHaveProperty('breaker')
  })

  it('waits only for the jitter without a delay', async () => {
    const target = failing()
    const answer = target.work(3)
    await bench.clock.advance(99)
    expect(target.calls).toBe(1)
    await bench.clock.advance(300)
    expect(await answer).toBe(4)
  })

  it('doubles the delay and adds jitter to each', async () => {
    const target = failing({ delay: 500, jitter: 100 })
    const answer = target.work(3)
    await bench.clock.advance(550)
    expect(target.calls).toBe(2)
    await bench.clock.advance(1050)
    expect(target.calls).toBe(3)
    await bench.clock.advance(2049)
    expect(target.calls).toBe(3)
    await bench.clock.advance(1)
    expect(await answer).toBe(4)
  })

  it('never waits longer than maxDelay, including jitter', async () => {
    const target = failing({ delay: 500, maxDelay: 600, jitter: 100, maxRetries: 5 })
    const answer = target.work(5)
    await bench.clock.advance(5 * 600)
    expect(await answer).toBe(6)
    const { events } = bench
    const delays = events.flatMap((event) => (event.type === 'retry_scheduled' ? event.delay : []))
    expect(Math.max(...delays)).toBeLessThanOrEqual(600)
  })

  it.each([-1, Number.POSITIVE_INFINITY])('treats %s as no limit of retries', async (maxRetries) => {
    expect(await failing({ maxRetries, jitter: 0 }).work(500)).toBe(501)
  })

  it('makes one attempt with 0 retries', async () => {
    await expect(failing({ maxRetries: 0 }).work(1)).rejects.toThrow('down')
  })

  it('starts no delay that would exceed maxDuration', async () => {
    const target = failing({ delay: 400, jitter: 0, maxDuration: 1000 })
    const answer = target.work(9).catch((error) => error)
    await bench.clock.advance(400)
    expect(sessionOf(await answer)?.stopped).toBe('deadline')
    expect(target.calls).toBe(2)
  })

  it.each([0, Number.POSITIVE_INFINITY])('treats a maxDuration of %s as no limit', async (maxDuration) => {
    await failing({ maxDuration }).work(0)
    expect(bench.made['Target.work']?.timeout?.total ?? Number.POSITIVE_INFINITY).toBe(
      Number.POSITIVE_INFINITY,
    )
  })

  it('accepts durations with a unit', async () => {
    await failing({ delay: '1s', maxDelay: '5s', jitter: '10ms', maxDuration: '1m' }).work(0)
    expect(bench.made['Target.work']).toMatchObject({
      retry: { baseDelay: 1000, maxDelay: 5000, jitterMax: 10 },
      timeout: { total: 60_000 },
    })
  })

  it('retries errors in retryOn and never those in abortOn', async () => {
    const settings = {
      retryOn: ['SQLException'],
      abortOn: ['SQLIntegrityConstraintViolationException'],
      jitter: 0,
    }
    const sql = (code: string) => () => Object.assign(new Error(code), { code })
    expect(await failing(settings, sql('40P01')).work(1)).toBe(2)
    await expect(failing(settings, sql('23505')).work(1)).rejects.toThrow('23505')
    await expect(failing(settings).work(1)).rejects.toThrow('down')
  })

  it('does not retry permanent errors', async () => {
    const target = failing({}, () => new TypeError('a mistake'))
    await expect(target.work(9)).rejects.toThrow('a mistake')
    expect(target.calls).toBe(1)
  })

  it('throws the last error unchanged, with its session', async () => {
    const error = await failing({ jitter: 0 })
      .work(9)
      .catch((thrown) => thrown)
    expect(error.message).toBe('down')
    expect(sessionOf(error)).toMatchObject({ operation: 'Target.work', stopped: 'attempts_spent' })
    expect(sessionOf(error)?.attempts).toHaveLength(4)
  })

  it('uses its name setting', async () => {
    await failing({ name: 'graph.upsert' }).work(0)
    expect(Object.keys(bench.made)).toEqual(['graph.upsert'])
  })

  it('uses the name of the method when its name is empty', async () => {
    await failing({ name: '' }).work(0)
    expect(Object.keys(bench.made)).toEqual(['Target.work'])
  })

  it('reports all problems of its settings', () => {
    const wrong = { maxRetries: -2, delay: 'soon', jitter: -1, retryOn: 'all', name: 7, attempts: 3 } as never
    expect(problemsOf(() => ft.Retry(wrong)).map((text) => text.split(':')[0])).toEqual([
      'Retry.maxRetries',
      'Retry.delay',
      'Retry.jitter',
      'Retry.retryOn',
      'Retry.name',
      'Retry.attempts',
    ])
    expect(problemsOf(() => ft.Retry({ maxRetries: 1.5 }))).toHaveLength(1)
    expect(problemsOf(() => ft.Retry({ delay: 10, maxDelay: 5 }))).toEqual([
      'Retry.maxDelay: expected at least delay (10), got 5',
    ])
    expect(problemsOf(() => ft.Retry({ abortOn: ['not a name'] }))).toHaveLength(1)
    expect(problemsOf(() => ft.Retry(null as never))).toHaveLength(1)
    expect(() => ft.Retry({ jitter: -1 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
  })

  it('ignores later changes of its settings object', async () => {
    const settings = { maxRetries: 1, jitter: 0 }
    const target = failing(settings)
    settings.maxRetries = 9
    await expect(target.work(2)).rejects.toThrow('down')
  })

  it('waits from delay·2^(n-1) to the jitter more, for all settings', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1000), fc.nat(500), fc.nat(6), async (delay, jitter, maxRetries) => {
        const { clock, events } = bench
        events.length = 0
        const answer = failing({ delay, jitter, maxRetries, maxDuration: 0 })
          .work(99)
          .catch(() => 'failed')
        await clock.advance(delay * 2 ** maxRetries + jitter * maxRetries + 1)
        expect(await answer).toBe('failed')
        const delays = events.flatMap((event) => (event.type === 'retry_scheduled' ? event.delay : []))
        expect(delays).toEqual(Array.from({ length: maxRetries }, (_, n) => delay * 2 ** n + jitter / 2))
      }),
      { numRuns: 50 },
    )
  })
})
