import { describe, expect, it } from 'vitest'
import type { CircuitBreaker } from '../../src/breaker/breaker.js'
import * as ft from '../../src/decorators/index.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

/** A class whose method succeeds or fails on request. */
function target(settings?: ft.CircuitBreakerSettings) {
  class Target {
    @ft.CircuitBreaker(settings)
    async work(error?: Error): Promise<string> {
      if (error !== undefined) throw error
      return 'done'
    }
  }
  return new Target()
}

const breakerNow = () => bench.made['Target.work']?.breaker as CircuitBreaker
const settingsNow = () => breakerNow().settings

/** Runs a number of failing and of successful calls. */
async function use(it: ReturnType<typeof target>, failures: number, successes = 0): Promise<void> {
  for (let i = 0; i < failures; i++) await it.work(new Error('down')).catch(() => {})
  for (let i = 0; i < successes; i++) await it.work()
}

describe('@CircuitBreaker', () => {
  it('has the defaults of MicroProfile', async () => {
    await target().work()
    expect(settingsNow()).toMatchObject({
      id: 'Target.work',
      windowType: 'rate',
      failureRate: 0.5,
      minimumCalls: 20,
      timeoutDuration: 5000,
      successThreshold: 1,
      failureOn: undefined,
    })
    expect(bench.made['Target.work']?.retry).toBe(false)
  })

  it('opens for 5 s when half of 20 calls failed', async () => {
    const mail = target()
    await use(mail, 9, 10)
    expect(breakerNow().state).toBe('closed')
    await use(mail, 1)
    await expect(mail.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', retryAfter: 5000 })
    await bench.clock.advance(5000)
    expect(await mail.work()).toBe('done')
  })

  it('accepts the settings of MicroProfile', async () => {
    await target({ requestVolumeThreshold: 4, failureRatio: 0.75, delay: '1s', successThreshold: 2 }).work()
    expect(settingsNow()).toMatchObject({
      minimumCalls: 4,
      failureRate: 0.75,
      timeoutDuration: 1000,
      successThreshold: 2,
    })
  })

  it('accepts the options of a breaker', async () => {
    await target({
      minimumCalls: 4,
      failureRate: 0.75,
      timeoutDuration: '1s',
      windowDuration: 500,
      halfOpenMax: 3,
    }).work()
    expect(settingsNow()).toMatchObject({
      minimumCalls: 4,
      failureRate: 0.75,
      timeoutDuration: 1000,
      windowDuration: 500,
      halfOpenMax: 3,
    })
  })

  it.each([{ failureThreshold: 2 }, { windowType: 'consecutive', failureThreshold: 2 }] as const)(
    'counts failures with %o',
    async (settings) => {
      const mail = target(settings)
      await use(mail, 2)
      await expect(mail.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
      expect(settingsNow()).toMatchObject({ timeoutDuration: 5000, failureRate: undefined })
    },
  )

  it('opens after five failures when only windowType is set', async () => {
    await target({ windowType: 'rolling' }).work()
    expect(settingsNow()).toMatchObject({ windowType: 'rolling', failureThreshold: 5 })
  })

  it('opens only by slow calls when slowCallRate is set', async () => {
    await target({ slowCallDuration: 100, slowCallRate: 0.2 }).work()
    expect(settingsNow()).toMatchObject({ failureRate: undefined, slowCallRate: 0.2, windowType: 'rate' })
  })

  it('counts errors in failOn and never those in skipOn', async () => {
    const mail = target({ failureThreshold: 1, failOn: [Error], skipOn: [RangeError] })
    await mail.work(new RangeError('skipped')).catch(() => {})
    expect(await mail.work()).toBe('done')
    await mail.work(new TypeError('counted')).catch(() => {})
    await expect(mail.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('counts by the default classification except for skipOn', async () => {
    const mail = target({ failureThreshold: 1, skipOn: ['timeout'] })
    const errors = [
      Object.assign(new Error('late'), { code: 'ETIMEDOUT' }),
      Object.assign(new Error('limit'), { status: 429 }),
      new TypeError('permanent'),
    ]
    for (const error of errors) await mail.work(error).catch(() => {})
    expect(await mail.work()).toBe('done')
    await mail.work(new Error('down')).catch(() => {})
    await expect(mail.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('treats failOn as failureOn', async () => {
    const mail = target({ failureThreshold: 1, failOn: ['sql:40'] })
    await mail.work(new Error('down')).catch(() => {})
    expect(await mail.work()).toBe('done')
    await mail.work(Object.assign(new Error('deadlock'), { code: '40P01' })).catch(() => {})
    await expect(mail.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('checks every attempt of a retry, and the call ends when it opens', async () => {
    class Both {
      calls = 0

      @ft.Retry({ maxRetries: 9, jitter: 0 })
      @ft.CircuitBreaker({ failureThreshold: 2 })
      async work(): Promise<void> {
        this.calls++
        throw new Error('down')
      }
    }
    const both = new Both()
    await expect(both.work()).rejects.toThrow('down')
    expect(both.calls).toBe(2)
    await expect(both.work()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('reports all problems of its settings', () => {
    const wrong = {
      requestVolumeThreshold: 0,
      failureRatio: 2,
      delay: -1,
      halfOpenMax: 0,
      color: 'red',
    } as never
    expect(problemsOf(() => ft.CircuitBreaker(wrong)).map((text) => text.split(':')[0])).toEqual([
      'CircuitBreaker.requestVolumeThreshold',
      'CircuitBreaker.failureRatio',
      'CircuitBreaker.delay',
      'CircuitBreaker.halfOpenMax',
      'CircuitBreaker.color',
    ])
    expect(problemsOf(() => ft.CircuitBreaker({ skipOn: ['no name'], failOn: ['nor this'] }))).toHaveLength(2)
    expect(problemsOf(() => ft.CircuitBreaker({ delay: 5, timeoutDuration: 5 }))).toEqual([
      'CircuitBreaker.delay: expected either delay or timeoutDuration, which mean the same, got both',
    ])
    expect(problemsOf(() => ft.CircuitBreaker('always' as never))).toHaveLength(1)
  })

  it('treats an undefined setting as absent', async () => {
    await target({ failureThreshold: undefined, delay: undefined, timeoutDuration: 7 } as never).work()
    expect(settingsNow()).toMatchObject({ windowType: 'rate', timeoutDuration: 7 })
  })
})
