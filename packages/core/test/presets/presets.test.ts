import { describe, expect, it } from 'vitest'
import { guard } from '../../src/guard/guard.js'
import * as presets from '../../src/presets/index.js'
import { isTransientSqlError } from '../../src/sql/index.js'
import { fakeClock } from '../../src/testing/index.js'

const { gmail, gemini, notion, infisical, postgres, proxies, openai, anthropic } = presets
const all = Object.entries(presets)

const retry = {
  maxAttempts: 3,
  backoffType: 'exponential',
  baseDelay: 1000,
  multiplier: 2,
  maxDelay: 10_000,
  jitterType: 'additive',
  jitterMin: 0,
  jitterMax: 2000,
  respectRetryAfter: true,
}
const breaker = {
  failureThreshold: 5,
  successThreshold: 2,
  windowType: 'consecutive',
  timeoutDuration: 60_000,
}
const llm = {
  maxAttempts: 4,
  backoffType: 'exponential',
  baseDelay: 500,
  multiplier: 2,
  maxDelay: 8000,
  jitterType: 'full',
  jitterAmount: 0.25,
  respectRetryAfter: true,
  maxRetryAfter: 60_000,
  retryOn: ['transient', expect.any(Function)],
  notProcessedStatuses: [429, 503, 529],
}

describe('the values of the preset', () => {
  it('gmail', () => {
    expect(gmail).toEqual({
      name: 'gmail',
      retry: {
        ...retry,
        retryOn: ['socket.timeout', 'ConnectionError', 'HttpError'],
        notProcessedStatuses: [429],
      },
      breaker,
      timeout: { attempt: 30_000 },
    })
  })

  it('gemini', () => {
    expect(gemini).toEqual({
      name: 'gemini',
      retry: {
        ...retry,
        retryOn: ['ResourceExhausted', 'DeadlineExceeded', 'ConnectionError'],
        notProcessedStatuses: [429, 503, 529],
      },
      breaker,
      timeout: { attempt: 60_000 },
    })
  })

  it('notion', () => {
    expect(notion).toEqual({
      name: 'notion',
      retry: { ...retry, retryOn: ['APIResponseError'], notProcessedStatuses: [429, 529] },
      breaker,
      timeout: { attempt: 30_000 },
    })
  })

  it('infisical', () => {
    expect(infisical).toEqual({
      name: 'infisical',
      retry: {
        ...retry,
        maxAttempts: 2,
        maxDelay: 5000,
        jitterMax: 1000,
        respectRetryAfter: false,
        retryOn: ['socket.timeout', 'ConnectionError'],
      },
      breaker: { ...breaker, failureThreshold: 3, timeoutDuration: 30_000 },
      timeout: { attempt: 10_000 },
    })
  })

  it('postgres', () => {
    expect(postgres).toEqual({
      name: 'postgres',
      retry: {
        maxAttempts: 4,
        backoffType: 'exponential',
        baseDelay: 500,
        multiplier: 2,
        maxDelay: 30_000,
        jitterType: 'additive',
        jitterMin: 0,
        jitterMax: 100,
        retryOn: [isTransientSqlError],
        abortOn: ['SQLIntegrityConstraintViolationException', 'IllegalArgumentException'],
      },
      timeout: { total: 30_000 },
    })
  })

  it('proxies', () => {
    expect(proxies).toEqual({
      name: 'proxies',
      retry: {
        maxAttempts: 3,
        backoffType: 'exponential',
        baseDelay: 1000,
        multiplier: 2,
        maxDelay: 30_000,
        jitterType: 'none',
        retryOn: [expect.any(Function)],
      },
    })
  })

  it('openai', () => {
    expect(openai).toEqual({
      name: 'openai',
      retry: { ...llm, abortOn: ['insufficient_quota', 'billing_not_active', 'billing_hard_limit_reached'] },
      breaker,
      timeout: { attempt: 600_000 },
    })
  })

  it('anthropic', () => {
    expect(anthropic).toEqual({ name: 'anthropic', retry: llm, breaker, timeout: { attempt: 600_000 } })
  })
})

describe.each(all)('%s', (name, preset) => {
  it('is deeply frozen', () => {
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      expect(Object.isFrozen(value)).toBe(true)
      Object.values(value).forEach(look)
    }
    look(preset)
  })

  it('can be given to a guard as it is and spread', async () => {
    expect(guard(preset).name).toBe(name)
    const changed = guard({ ...preset, name: 'mine', retry: { ...preset.retry, maxAttempts: 9 } })
    expect(await changed.run(() => 'done')).toBe('done')
  })
})

/** The number of attempts and the total delay of a preset for an error. */
async function attempts(preset: object, error: unknown): Promise<number> {
  const clock = fakeClock()
  let calls = 0
  const failed = guard({ ...preset, clock, random: () => 0.5 })
    .run(() => {
      calls++
      throw error
    })
    .catch(() => {})
  await clock.advance(120_000)
  await failed
  return calls
}

const http = (status: number, more: object = {}) =>
  Object.assign(new Error(`status ${status}`), { status, ...more })
const coded = (code: string) => Object.assign(new Error(code), { code })

describe('the retries of', () => {
  it.each([
    [
      'gmail',
      gmail,
      [coded('ETIMEDOUT'), coded('ECONNRESET'), http(503), http(429)],
      [http(404), new Error('?')],
    ],
    ['gemini', gemini, [http(429), coded('ETIMEDOUT'), coded('ECONNREFUSED')], [http(503), http(400)]],
    ['notion', notion, [http(429), http(502)], [coded('ECONNRESET'), http(409)]],
    ['infisical', infisical, [coded('ETIMEDOUT'), coded('ECONNRESET')], [http(503), http(401)]],
    [
      'postgres',
      postgres,
      [coded('40P01'), coded('57P01'), coded('ECONNREFUSED')],
      [coded('23505'), new Error('?')],
    ],
    [
      'proxies',
      proxies,
      [http(502), http(503), http(504), coded('ECONNRESET')],
      [http(500), http(429), http(403)],
    ],
    ['openai', openai, [http(429), http(500), http(409), coded('ECONNRESET')], [http(400), http(401)]],
    ['anthropic', anthropic, [http(529), http(429), http(500), http(409)], [http(400), http(403)]],
  ] as const)('%s', async (_, preset, wanted, unwanted) => {
    const { maxAttempts } = preset.retry
    for (const error of wanted)
      expect([error.message, await attempts(preset, error)]).toEqual([error.message, maxAttempts])
    for (const error of unwanted)
      expect([error.message, await attempts(preset, error)]).toEqual([error.message, 1])
  })

  it('openai exclude an exhausted quota', async () => {
    expect(await attempts(openai, http(429, { code: 'insufficient_quota' }))).toBe(1)
  })

  it('the services respect Retry-After, except for infisical', async () => {
    const waits = async (preset: object, error: Error) => {
      const clock = fakeClock()
      const delays: number[] = []
      const it = guard({ ...preset, clock, random: () => 0.5 })
      it.on((event) => event.type === 'retry_scheduled' && delays.push(event.delay))
      const failed = it.run(() => Promise.reject(error)).catch(() => {})
      await clock.advance(120_000)
      await failed
      return delays
    }
    const hinted = Object.assign(coded('ECONNRESET'), { retryAfter: 7000 })
    expect(await waits(gmail, hinted)).toEqual([7000, 7000])
    expect(await waits(gmail, coded('ECONNRESET'))).toEqual([2000, 3000])
    expect(await waits(infisical, hinted)).toEqual([1500])
    expect(await waits(postgres, coded('40001'))).toEqual([550, 1050, 2050])
    expect(await waits(proxies, http(503))).toEqual([1000, 2000])
    expect(await waits(openai, http(500))).toEqual([437.5, 875, 1750])
  })
})
