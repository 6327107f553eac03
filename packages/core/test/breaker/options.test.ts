import { describe, expect, it } from 'vitest'
import { CircuitBreaker, type CircuitBreakerOptions, guard, isHoldfastError } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, fail, made, opened, problemsOf, rejectionOf, succeed } from './setup.js'

const problems = (options: unknown) => problemsOf(() => new CircuitBreaker(options as CircuitBreakerOptions))

describe('the defaults of a breaker', () => {
  it('failureThreshold is 5', () => {
    const { breaker } = made()
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it("windowType is 'rolling'", () => {
    expect(made().breaker.snapshot().windowType).toBe('rolling')
  })

  it('windowDuration is 60 seconds', async () => {
    const { breaker, clock } = made()
    fail(breaker)
    await clock.advance(60_000)
    expect(breaker.failureCount).toBe(1)
    await clock.advance(0.001)
    expect(breaker.failureCount).toBe(0)
  })

  it('failureRate is one half for a rate window, and minimumCalls 10', () => {
    const { breaker } = made({ windowType: 'rate' })
    succeed(breaker, 5)
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('failureRate has no default where only slowCallRate is given', () => {
    const { breaker } = made({ slowCallRate: 1, slowCallDuration: 1 })
    fail(breaker, 100)
    expect(breaker.state).toBe('closed')
  })

  it('slow calls do not count', async () => {
    const { breaker, clock } = made({ failureRate: 0.5 })
    for (let i = 0; i < 20; i++) {
      const permit = admitted(breaker)
      await clock.advance(3_600_000)
      permit.success()
    }
    expect(breaker.state).toBe('closed')
  })

  it('timeoutDuration is 30 seconds, and timeoutMultiplier 1', async () => {
    const { breaker, clock } = made()
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(30_000)
    await clock.advance(30_000)
    fail(breaker)
    expect((await rejectionOf(breaker)).retryAfter).toBe(30_000)
  })

  it('maxTimeoutDuration is a year', async () => {
    const { breaker, clock } = made({ timeoutDuration: '364d', timeoutMultiplier: 2 })
    breaker.trip()
    await clock.advance(364 * 86_400_000)
    fail(breaker)
    expect((await rejectionOf(breaker)).retryAfter).toBe(365 * 86_400_000)
  })

  it('successThreshold is 1', async () => {
    const { breaker, clock } = opened()
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('halfOpenMax is 1', async () => {
    const { breaker, clock } = opened()
    await clock.advance(1000)
    admitted(breaker)
    expect(breaker.admit()).toBeUndefined()
  })

  it('probeLease is timeoutDuration', async () => {
    const { breaker, clock } = opened()
    await clock.advance(1000)
    admitted(breaker)
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('adaptive is false', () => {
    expect(made().breaker.snapshot().results).toBeUndefined()
  })

  it('failureOn matches transient and critical errors except rate limits', () => {
    const { breaker } = made()
    for (const status of [503, 401, 429, 404])
      admitted(breaker).failure(Object.assign(new Error(), { status }))
    expect(breaker.failureCount).toBe(2)
  })

  it('id is empty', () => {
    expect(new CircuitBreaker({ failureThreshold: 1 }).id).toBe('')
    expect(new CircuitBreaker({ id: 'mail' }).id).toBe('mail')
  })

  it('are shared by all breakers that have only an id', () => {
    const { settings } = new CircuitBreaker({ id: 'a' })
    expect(new CircuitBreaker({ id: 'b' }).settings).toBe(settings)
    expect(new CircuitBreaker().settings).toBe(settings)
    expect(new CircuitBreaker({ id: 'c', halfOpenMax: 2 }).settings).not.toBe(settings)
  })

  it('an option that is undefined is absent', () => {
    const breaker = new CircuitBreaker({ id: 'b', failureThreshold: undefined } as never)
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })
})

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['2s', 2000],
    ['1.5m', 90_000],
    ['1h', 3_600_000],
    ['2d', 172_800_000],
    [125, 125],
  ] as const)('are read as %s', async (timeoutDuration, ms) => {
    const { breaker } = made({ timeoutDuration })
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(ms)
  })
})

const WHOLE = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null]
const SPAN = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 'soon', '5', '-1s', '5 s', null, {}]
const RATE = [0, -0.5, 1.1, Number.NaN, '50%', null]

describe.each<[string, RegExp, unknown[]]>([
  ['failureThreshold', /whole number from 1/, WHOLE],
  ['minimumCalls', /whole number from 1/, WHOLE],
  ['successThreshold', /whole number from 1/, WHOLE],
  ['halfOpenMax', /whole number from 1/, WHOLE],
  ['windowType', /rolling.*consecutive.*rate/, ['sliding', '', null, 1, ['rate']]],
  ['windowDuration', /duration above 0/, SPAN],
  ['timeoutDuration', /duration above 0/, SPAN],
  ['probeLease', /duration above 0/, SPAN],
  ['maxTimeoutDuration', /duration above 0/, SPAN],
  ['failureRate', /number above 0, up to 1/, RATE],
  ['timeoutMultiplier', /number from 1/, [0, 0.99, -1, Number.NaN, '2', null]],
  ['adaptive', /boolean/, ['yes', 1, null]],
  ['failureOn', /array/, ['Error', Error, {}, null]],
  ['clock', /Clock with now, wall, setTimer and clearTimer/, [5, 'now', {}, { now: () => 0 }, null]],
  ['id', /string/, [5, null, {}]],
])('%s', (name, expected, values) => {
  it.each(values)('rejects %s, and says what was expected and what it got', (value) => {
    const found = problems({ [name]: value })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(new RegExp(`^${name}: expected .*, got `))
    expect(found[0]?.split(', got ')[0]).toMatch(expected)
  })
})

describe('invalid options', () => {
  it('report the value', () => {
    const got = (value: unknown) =>
      /, got (.*)$/.exec(problems({ failureThreshold: value })[0] as string)?.[1]
    expect(got(0)).toBe('0')
    expect(got('many')).toBe('"many"')
    expect(got(null)).toBe('null')
    expect(got(Number.NaN)).toBe('NaN')
    expect(got([])).toBe('an array')
    expect(got({})).toBe('an object')
    expect(got(() => 0)).toBe('a function')
  })

  it('include each entry of failureOn that is not a matcher', () => {
    const found = problems({ failureOn: [Error, 5, 'timeout', 'no name!'] })
    expect(found).toHaveLength(2)
    expect(found[0]).toMatch(/^failureOn\[1\]: expected .*, got 5$/)
    expect(found[1]).toMatch(/^failureOn\[3\]: expected .*, got "no name!"$/)
  })

  it('include slowCallRate or slowCallDuration without the other', () => {
    for (const options of [{ slowCallRate: 0.5 }, { slowCallDuration: 100 }]) {
      const found = problems(options)
      expect(found).toHaveLength(1)
      expect(found[0]).toContain('slowCallRate')
      expect(found[0]).toContain('slowCallDuration')
    }
  })

  it.each(RATE)('include a slowCallRate of %s', (slowCallRate) => {
    expect(problems({ slowCallRate, slowCallDuration: 100 })[0]).toMatch(
      /^slowCallRate: expected a number above 0, .*, got /,
    )
  })

  it.each(SPAN)('include a slowCallDuration of %s', (slowCallDuration) => {
    expect(problems({ slowCallRate: 1, slowCallDuration })[0]).toMatch(
      /^slowCallDuration: expected a duration .*, got /,
    )
  })

  it('include a maxTimeoutDuration below timeoutDuration', () => {
    expect(problems({ timeoutDuration: 2000, maxTimeoutDuration: 1999 })).toEqual([
      'maxTimeoutDuration: expected at least timeoutDuration (2000), got 1999',
    ])
    expect(problems({ timeoutDuration: 2000, maxTimeoutDuration: 2000 })).toEqual([])
  })

  it('include unknown names', () => {
    const found = problems({ failureTreshold: 5, toString: 1 })
    expect(found).toHaveLength(2)
    expect(found[0]).toMatch(/^failureTreshold: expected one of failureThreshold, .*, got an unknown option$/)
    expect(found[1]).toMatch(/^toString: expected one of /)
  })

  it('include a value that is not an object', () => {
    for (const options of [null, 5, 'mail', [], true]) expect(problems(options).length).toBeGreaterThan(0)
  })

  it('are reported all at once', () => {
    const wrong = {
      failureThreshold: 0,
      windowType: 'sliding',
      windowDuration: 'soon',
      failureRate: 2,
      minimumCalls: 0,
      timeoutDuration: -1,
      timeoutMultiplier: 0,
      successThreshold: 0,
      halfOpenMax: 0,
      probeLease: 0,
      adaptive: 'yes',
      failureOn: [5],
      clock: {},
      id: 5,
      retries: 3,
    }
    const found = problems(wrong)
    expect(new Set(found.map((problem) => /^\w+/.exec(problem)?.[0]))).toEqual(new Set(Object.keys(wrong)))
    expect(found).toHaveLength(Object.keys(wrong).length)
  })

  it('are in the message too', () => {
    try {
      new CircuitBreaker({ failureThreshold: 0, halfOpenMax: 0 })
      expect.unreachable()
    } catch (error) {
      expect(isHoldfastError(error, 'INVALID_OPTIONS')).toBe(true)
      expect((error as Error).message).toMatch(
        /^invalid options of a circuit breaker: failureThreshold: expected .*, got 0; halfOpenMax: expected .*, got 0$/,
      )
    }
  })
})

describe('the breaker options of a guard', () => {
  const wrong = (breaker: unknown) => problemsOf(() => guard({ breaker } as never))

  it('are checked the same way, under their own path', () => {
    expect(wrong({ failureThreshold: 0 })[0]).toMatch(
      /^breaker\.failureThreshold: expected a whole number from 1, got 0$/,
    )
    expect(wrong({ failureOn: [5] })[0]).toMatch(/^breaker\.failureOn\[0\]: expected .*, got 5$/)
    expect(wrong({ slowCallRate: 0.5 })[0]).toMatch(/^breaker\.slowCall/)
    expect(wrong({ timeoutDuration: 2, maxTimeoutDuration: 1 })[0]).toMatch(
      /^breaker\.maxTimeoutDuration: expected at least timeoutDuration \(2\), got 1$/,
    )
  })

  it('take a key that is a function and maxKeys that is a whole number from 1', () => {
    expect(wrong({ key: 'host' })[0]).toMatch(/^breaker\.key: expected a function, got "host"$/)
    expect(wrong({ key: () => '', maxKeys: 0 })[0]).toMatch(
      /^breaker\.maxKeys: expected a whole number from 1, got 0$/,
    )
    expect(wrong({ key: () => '', maxKeys: 1 })).toEqual([])
  })

  it('are reported together with other problems of the guard', () => {
    const found = problemsOf(() =>
      guard({ breaker: { failureThreshold: 0, key: 5 }, retry: { maxAttempts: 0 } } as never),
    )
    expect(found).toHaveLength(3)
  })

  it('are completed with the name and the clock of the guard', async () => {
    const clock = fakeClock({ wall: 0 })
    const { breaker } = guard({ name: 'api', clock, breaker: { timeoutDuration: 500 } })
    breaker?.trip()
    expect(breaker?.id).toBe('api')
    expect(breaker?.nextTestTime).toBe(500)
  })

  it('are copied, so that a later change has no effect', () => {
    const options = { failureThreshold: 2 }
    const breaker = new CircuitBreaker(options)
    options.failureThreshold = 1
    fail(breaker)
    expect(breaker.state).toBe('closed')
  })
})
