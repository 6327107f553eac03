import { describe, expect, it } from 'vitest'
import { guard, type Matcher, type RetryOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { rejection } from '../guard/watch.js'
import { policy, problemsOf } from './policy.js'

describe('by default', () => {
  const defaults = policy({})

  it.each([
    ['maxAttempts', 3],
    ['backoffType', 'exponential'],
    ['baseDelay', 1000],
    ['multiplier', 2],
    ['maxDelay', 30_000],
    ['jitterType', 'none'],
    ['jitterAmount', 0.1],
    ['jitterMin', 0],
    ['jitterMax', 0],
    ['retryOn', undefined],
    ['abortOn', undefined],
    ['retryIf', undefined],
    ['respectRetryAfter', true],
    ['maxRetryAfter', 60_000],
  ] as const)('%s is %s', (name, value) => {
    expect(defaults[name]).toBe(value)
  })

  it('an option that is undefined has its default', () => {
    const blank = Object.fromEntries(Object.keys(defaults).map((name) => [name, undefined]))
    const { wanted: _, unwanted: __, ...rest } = blank
    expect(policy(rest as RetryOptions)).toEqual(defaults)
  })
})

describe('an option is accepted', () => {
  it.each([
    ['maxAttempts', 1, 1],
    ['maxAttempts', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['backoffType', 'linear', 'linear'],
    ['backoffType', 'fixed', 'fixed'],
    ['backoffType', 'immediate', 'immediate'],
    ['backoffType', 'fibonacci', 'fibonacci'],
    ['baseDelay', 0, 0],
    ['baseDelay', '2s', 2000],
    ['multiplier', 1, 1],
    ['multiplier', 1.5, 1.5],
    ['maxDelay', 1000, 1000],
    ['maxDelay', '1h', 3_600_000],
    ['maxDelay', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['jitterType', 'full', 'full'],
    ['jitterType', 'equal', 'equal'],
    ['jitterType', 'decorrelated', 'decorrelated'],
    ['jitterType', 'proportional', 'proportional'],
    ['jitterType', 'additive', 'additive'],
    ['jitterAmount', 0, 0],
    ['jitterAmount', 1, 1],
    ['jitterMax', '250ms', 250],
    ['respectRetryAfter', false, false],
    ['maxRetryAfter', '5m', 300_000],
    ['maxRetryAfter', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ] as const)('%s: %s', (name, given, taken) => {
    expect(policy({ [name]: given })[name]).toBe(taken)
  })

  it('jitterMin up to jitterMax', () => {
    expect(policy({ jitterMin: '1s', jitterMax: 1000 })).toMatchObject({ jitterMin: 1000, jitterMax: 1000 })
  })

  it('a function as backoffType and as retryIf', () => {
    const fn = () => 5
    const retryIf = () => true
    expect(policy({ backoffType: fn, retryIf })).toMatchObject({ backoffType: fn, retryIf })
  })
})

describe('an option is rejected', () => {
  const WHOLE = 'a whole number from 1, or Infinity'
  const WAIT = 'a duration of 0 or more'
  const SHARE = 'a number from 0 to 1'

  it.each([
    ['maxAttempts', 0, 'got 0', WHOLE],
    ['maxAttempts', -1, 'got -1', WHOLE],
    ['maxAttempts', 1.5, 'got 1.5', WHOLE],
    ['maxAttempts', Number.NaN, 'got NaN', WHOLE],
    ['maxAttempts', '3', 'got "3"', WHOLE],
    ['maxAttempts', null, 'got null', WHOLE],
    [
      'backoffType',
      'quadratic',
      'got "quadratic"',
      /exponential.*linear.*fixed.*immediate.*fibonacci.*function/,
    ],
    ['backoffType', 5, 'got 5', /exponential/],
    ['baseDelay', -1, 'got -1', WAIT],
    ['baseDelay', Number.NaN, 'got NaN', WAIT],
    ['baseDelay', '5', 'got "5"', WAIT],
    ['baseDelay', 'soon', 'got "soon"', WAIT],
    ['baseDelay', {}, 'got an object', WAIT],
    ['multiplier', 0.99, 'got 0.99', 'a number from 1'],
    ['multiplier', Number.NaN, 'got NaN', 'a number from 1'],
    ['multiplier', '2', 'got "2"', 'a number from 1'],
    ['maxDelay', -5, 'got -5', WAIT],
    ['maxDelay', true, 'got true', WAIT],
    ['jitterType', 'some', 'got "some"', /none.*full.*equal.*decorrelated.*proportional.*additive/],
    ['jitterType', true, 'got true', /none/],
    ['jitterAmount', 1.01, 'got 1.01', SHARE],
    ['jitterAmount', -0.01, 'got -0.01', SHARE],
    ['jitterAmount', Number.NaN, 'got NaN', SHARE],
    ['jitterMin', -1, 'got -1', WAIT],
    ['jitterMax', '-1s', 'got "-1s"', WAIT],
    ['retryOn', 'timeout', 'got "timeout"', 'an array'],
    ['retryOn', {}, 'got an object', 'an array'],
    ['abortOn', new Set(), 'got an object', 'an array'],
    ['retryIf', true, 'got true', 'a function'],
    ['respectRetryAfter', 1, 'got 1', 'a boolean'],
    ['maxRetryAfter', 0, 'got 0', 'a duration above 0'],
    ['maxRetryAfter', -1, 'got -1', 'a duration above 0'],
  ] as const)('%s: %s', (name, given, got, expected) => {
    const [problem, ...others] = problemsOf({ [name]: given })
    expect(others).toEqual([])
    expect(problem).toMatch(new RegExp(`^retry\\.${name}: expected .*, ${got}$`))
    expect(problem).toMatch(expected)
  })

  it.each(['retryOn', 'abortOn'])('%s with an entry that is not a matcher, with its index', (name) => {
    const problems = problemsOf({ [name]: ['timeout', 5, 'not a name'] })
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`^retry\\.${name}\\[1\\]: expected .*, got 5$`)),
      expect.stringMatching(new RegExp(`^retry\\.${name}\\[2\\]: expected .*, got "not a name"$`)),
    ])
  })

  it('maxDelay below baseDelay', () => {
    expect(problemsOf({ baseDelay: '2s', maxDelay: 1999 })).toEqual([
      'retry.maxDelay: expected at least baseDelay (2000), got 1999',
    ])
  })

  it('baseDelay above the default of maxDelay', () => {
    expect(problemsOf({ baseDelay: '1m' })).toEqual([
      'retry.maxDelay: expected at least baseDelay (60000), got 30000',
    ])
  })

  it('jitterMax below jitterMin', () => {
    expect(problemsOf({ jitterMin: 10, jitterMax: 5 })).toEqual([
      'retry.jitterMax: expected at least jitterMin (10), got 5',
    ])
  })

  it('that does not exist, with a list of the known options', () => {
    const [problem, ...others] = problemsOf({ retries: 3 })
    expect(others).toEqual([])
    expect(problem).toContain('retry.retries: expected one of ')
    expect(problem).toMatch(/maxAttempts, backoffType, baseDelay/)
  })

  it('that has the name of an inherited property', () => {
    expect(problemsOf(JSON.parse('{ "constructor": 1, "__proto__": 2 }'))).toHaveLength(2)
  })

  it.each([
    ['a string', 'often'],
    ['a number', 3],
    ['true', true],
    ['null', null],
    ['an array', []],
    ['a function', () => {}],
  ])('when the whole of retry is %s', (_, given) => {
    expect(problemsOf(given)).toEqual([expect.stringMatching(/^retry: expected an object,.* got /)])
  })

  it('together with every other invalid option', () => {
    const wrong = {
      maxAttempts: 0,
      backoffType: 'never',
      baseDelay: -1,
      multiplier: 0,
      maxDelay: 'long',
      jitterType: 'much',
      jitterAmount: 2,
      jitterMin: -1,
      jitterMax: -1,
      retryOn: 1,
      abortOn: 1,
      retryIf: 1,
      respectRetryAfter: 1,
      maxRetryAfter: -1,
      surplus: 1,
    }
    const named = problemsOf(wrong).map((problem) => /^retry\.(\w+):/.exec(problem)?.[1])
    expect(named).toEqual(Object.keys(wrong))
  })
})

describe('options are copied', () => {
  const failing = async (retry: RetryOptions, change: () => void) => {
    let calls = 0
    const api = guard({ clock: fakeClock(), retry })
    change()
    await rejection(
      api.run(() => {
        calls++
        throw new Error('down')
      }),
    )
    return calls
  }

  it('so that a later change of them has no effect', async () => {
    const retry: RetryOptions = { maxAttempts: 2, backoffType: 'immediate' }
    const calls = await failing(retry, () => {
      retry.maxAttempts = 9
    })
    expect(calls).toBe(2)
  })

  it.each(['retryOn', 'abortOn'] as const)('together with the list in %s', async (name) => {
    const list: Matcher[] = name === 'retryOn' ? ['Error'] : []
    const calls = await failing({ backoffType: 'immediate', [name]: list }, () => {
      list.length = 0
      list.push(name === 'retryOn' ? 'timeout' : 'Error')
    })
    expect(calls).toBe(3)
  })

  it('and frozen', () => {
    expect(Object.isFrozen(policy({ maxAttempts: 2 }))).toBe(true)
  })

  it('and the given object is not changed, frozen or not', () => {
    const retry = Object.freeze({
      maxAttempts: 2,
      baseDelay: '1s' as const,
      retryOn: Object.freeze(['timeout']),
    })
    expect(policy(retry).baseDelay).toBe(1000)
    expect(retry).toEqual({ maxAttempts: 2, baseDelay: '1s', retryOn: ['timeout'] })
  })
})
