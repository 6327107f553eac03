import { describe, expect, it } from 'vitest'
import { type GuardOptions, guard, HoldfastError } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, never } from './watch.js'

/** The error of a guard with invalid options. */
function rejectionOf(options: unknown): HoldfastError {
  try {
    guard(options as GuardOptions)
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
  throw new Error('nothing is wrong')
}

const problemsOf = (options: unknown) => rejectionOf(options).details ?? []

describe('a guard is rejected', () => {
  it.each([
    ['name', 5, 'got 5', 'a string'],
    ['retry', true, 'got true', /an object.*false/],
    ['retry', 3, 'got 3', /an object.*false/],
    ['breaker', true, 'got true', /an object.*false/],
    ['breaker', null, 'got null', /an object.*false/],
    ['timeout', 5000, 'got 5000', 'an object'],
    ['timeout', '30s', 'got "30s"', 'an object'],
    ['fallback', 'value', 'got "value"', 'a function'],
    ['classify', {}, 'got an object', 'a function'],
    ['clock', {}, 'got an object', /now.*wall.*setTimer.*clearTimer/],
    ['clock', () => 5, 'got a function', /now/],
    ['random', 0.5, 'got 0.5', 'a function'],
    ['enabled', 'yes', 'got "yes"', 'a boolean'],
  ])('for %s: %s', (name, value, got, expected) => {
    const [problem, ...others] = problemsOf({ [name]: value })
    expect(others).toEqual([])
    expect(problem).toMatch(new RegExp(`^${name}: expected .*, ${got}$`))
    expect(problem).toMatch(expected)
  })

  it.each([
    ['attempt', 0, 'got 0'],
    ['attempt', -1, 'got -1'],
    ['attempt', 'soon', 'got "soon"'],
    ['total', Number.NaN, 'got NaN'],
    ['total', '0s', 'got "0s"'],
    ['total', null, 'got null'],
  ])('for timeout.%s: %s', (name, value, got) => {
    const [problem, ...others] = problemsOf({ timeout: { [name]: value } })
    expect(others).toEqual([])
    expect(problem).toContain(`timeout.${name}: expected a duration above 0`)
    expect(problem).toContain(`or Infinity for none, ${got}`)
  })

  it('for an unknown option, with a list of the known ones', () => {
    const [problem, ...others] = problemsOf({ retries: 3 })
    expect(others).toEqual([])
    expect(problem).toContain('retries: expected one of ')
    expect(problem).toMatch(/name, retry, breaker, timeout/)
  })

  it('for an unknown deadline', () => {
    expect(problemsOf({ timeout: { each: 5 } })).toEqual([
      expect.stringContaining('timeout.each: expected one of attempt, total, got an unknown option'),
    ])
  })

  it('for an invalid option of its breaker', () => {
    expect(problemsOf({ breaker: { failureThreshold: 0 } })).toEqual([
      expect.stringContaining('breaker.failureThreshold: expected a whole number from 1, got 0'),
    ])
  })

  it.each([
    ['key', 'host'],
    ['maxKeys', 0],
  ])('for an invalid option of its keyed breakers: %s', (name, value) => {
    const breaker = { key: () => 'a', [name]: value }
    expect(problemsOf({ breaker })).toEqual([expect.stringContaining(`breaker.${name}: expected `)])
  })

  it.each([
    ['a number', 42],
    ['a string', 'mail'],
    ['null', null],
    ['an array', []],
    ['true', true],
  ])('for options that are %s', (_, options) => {
    const { code, details } = rejectionOf(options)
    expect(code).toBe('INVALID_OPTIONS')
    expect(details).toEqual([expect.stringMatching(/^options: expected an object, got /)])
  })

  it('for every problem at once, each with its path', () => {
    const wrong = {
      name: 1,
      retry: { maxAttempts: 0, baseDelay: -1 },
      breaker: { failureThreshold: 0, windowType: 'none' },
      timeout: { attempt: 0, total: 0 },
      fallback: 1,
      classify: 1,
      clock: 1,
      random: 1,
      enabled: 1,
      surplus: 1,
    }
    const named = problemsOf(wrong).map((problem) => problem.split(':')[0])
    expect(new Set(named)).toEqual(
      new Set([
        'name',
        'retry.maxAttempts',
        'retry.baseDelay',
        'breaker.failureThreshold',
        'breaker.windowType',
        'timeout.attempt',
        'timeout.total',
        'fallback',
        'classify',
        'clock',
        'random',
        'enabled',
        'surplus',
      ]),
    )
    expect(named).toHaveLength(13)
  })

  it('with one INVALID_OPTIONS whose message has the name and every problem', () => {
    const error = rejectionOf({ name: 'mail', random: 5, enabled: 5 })
    expect(error.code).toBe('INVALID_OPTIONS')
    expect(error.message).toContain('mail')
    for (const problem of error.details ?? []) expect(error.message).toContain(problem)
  })
})

describe('a guard is created', () => {
  it.each([
    ['without options', undefined],
    ['with none', {}],
    [
      'with undefined for each',
      { name: undefined, retry: undefined, breaker: undefined, timeout: undefined },
    ],
    ['without a breaker', { breaker: false }],
    ['without retries', { retry: false }],
    ['with one deadline', { timeout: { total: '1m' } }],
    ['with no deadline at all', { timeout: {} }],
    ['with deadlines that are none', { timeout: { attempt: Number.POSITIVE_INFINITY } }],
  ])('%s', (_, options) => {
    expect(() => guard(options as GuardOptions)).not.toThrow()
  })

  it('with a copy of its options, so that a later change has no effect', async () => {
    const clock = fakeClock()
    const options = { clock, retry: false, timeout: { attempt: 100 } } as const
    const changing: { -readonly [K in keyof typeof options]: unknown } = {
      ...options,
      timeout: { attempt: 100 },
    }
    const api = guard(changing as GuardOptions)
    changing.clock = fakeClock()
    ;(changing.timeout as { attempt: number }).attempt = 5
    const call = fate(api.run(never))
    await clock.advance(99)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call.state).toBe('rejected')
  })

  it('with deadlines as strings', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { total: '2m' } }).run(never))
    await clock.advance(119_999)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT' })
  })
})

it('a guard is rejected for a required option that is undefined', () => {
  const given = { hedge: { delay: undefined }, bulkhead: { limit: undefined } }
  expect(problemsOf(given)).toEqual([
    expect.stringMatching(/^bulkhead\.limit: expected .*, got undefined$/),
    expect.stringMatching(/^hedge\.delay: expected .*, got undefined$/),
  ])
})
