import { afterEach, describe, expect, it, vi } from 'vitest'
import { CircuitBreaker, guard, HoldfastError, type Matcher } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, made } from './setup.js'

afterEach(() => vi.restoreAllMocks())

const withCode = (code: string) => Object.assign(new Error(code), { code })
const withStatus = (status: number) => Object.assign(new Error(`answered ${status}`), { status })
const aborted = () => new DOMException('the caller left', 'AbortError')

const COUNTED: [string, unknown][] = [
  ['an error nothing is known about', new Error('boom')],
  ['a refused connection', withCode('ECONNREFUSED')],
  ['a server error', withStatus(503)],
  ['a wrong password, which is critical', withStatus(401)],
  ['a full disk, which is critical', withCode('ENOSPC')],
  ['a timeout of the system', withCode('ETIMEDOUT')],
  ['a timeout of a signal', new DOMException('too slow', 'TimeoutError')],
  ['an attempt timeout', new HoldfastError('ATTEMPT_TIMEOUT', 'too slow')],
  ['a total timeout', new HoldfastError('TOTAL_TIMEOUT', 'too slow')],
]

const NOT_COUNTED: [string, unknown][] = [
  ['a rate limit', withStatus(429)],
  ['a missing page', withStatus(404)],
  ['a bad request', withStatus(400)],
  ['a programming error', new TypeError('x is not a function')],
  ['a string', 'boom'],
  ['undefined', undefined],
  ["a caller's abort", aborted()],
  ['a cancellation', new HoldfastError('CANCELLED', 'stopped')],
  ['the rejection of a breaker', new HoldfastError('CIRCUIT_OPEN', 'open', { retryAfter: 5 })],
]

describe('whether a breaker counts a failure', () => {
  it.each(COUNTED)('%s counts', async (_, error) => {
    const { breaker } = made()
    await expect(breaker.run(() => Promise.reject(error))).rejects.toBe(error)
    expect(breaker.failureCount).toBe(1)
  })

  it.each(NOT_COUNTED)('%s does not count', async (_, error) => {
    const { breaker } = made()
    await expect(breaker.run(() => Promise.reject(error))).rejects.toBe(error)
    expect(breaker.failureCount).toBe(0)
  })

  it.each(NOT_COUNTED)('%s does not count as a success either', async (_, error) => {
    const { breaker } = made({ windowType: 'consecutive' })
    admitted(breaker).failure()
    await breaker.run(() => Promise.reject(error)).catch(() => {})
    expect(breaker.failureCount).toBe(1)
  })
})

describe('whether the breaker of a guard counts a failure', () => {
  const failures = async (error: unknown) => {
    const kept = guard({ clock: fakeClock(), retry: false, breaker: {} })
    await kept.run(() => Promise.reject(error)).catch(() => {})
    return kept.breaker?.failureCount
  }

  it.each(COUNTED)('%s counts', async (_, error) => expect(await failures(error)).toBe(1))

  it.each(NOT_COUNTED)('%s does not count', async (_, error) => expect(await failures(error)).toBe(0))

  it('an attempt that ended with its timeout counts', async () => {
    const clock = fakeClock()
    const kept = guard({ clock, retry: false, breaker: {}, timeout: { attempt: 100 } })
    const call = kept.run(() => new Promise<never>(() => {})).catch(() => 'timed out')
    await clock.advance(100)
    await call
    expect(kept.breaker?.failureCount).toBe(1)
  })

  it('a call whose signal was aborted does not count, regardless of failureOn', async () => {
    const kept = guard({ clock: fakeClock(), retry: false, breaker: { failureOn: [Error, () => true] } })
    const controller = new AbortController()
    const call = kept
      .run(() => new Promise<never>(() => {}), { signal: controller.signal })
      .catch(() => 'left')
    controller.abort()
    await call
    expect(kept.breaker?.failureCount).toBe(0)
  })

  it('its own rejection does not count', async () => {
    const kept = guard({ clock: fakeClock(), retry: false, breaker: { failureThreshold: 1 } })
    for (let i = 0; i < 5; i++) await kept.run(() => Promise.reject(new Error('down'))).catch(() => {})
    expect(kept.breaker?.failureCount).toBe(1)
  })

  it('every failed attempt counts, not only the last', async () => {
    const kept = guard({
      clock: fakeClock(),
      retry: { maxAttempts: 3, backoffType: 'immediate' },
      breaker: {},
    })
    await kept.run(() => Promise.reject(new Error('down'))).catch(() => {})
    expect(kept.breaker?.failureCount).toBe(3)
  })
})

describe('failureOn', () => {
  class Flaky extends Error {
    override name = 'Flaky'
  }
  class VeryFlaky extends Flaky {}

  const failures = (failureOn: readonly Matcher[], error: unknown) => {
    const { breaker } = made({ failureOn })
    admitted(breaker).failure(error)
    return breaker.failureCount
  }

  it.each<[string, Matcher, unknown]>([
    ['a class', Flaky, new Flaky()],
    ['the class of an ancestor', Flaky, new VeryFlaky()],
    ['a name', 'Flaky', new Flaky()],
    ['the name of an ancestor', 'Flaky', new VeryFlaky()],
    ['a code', 'E_MINE', withCode('E_MINE')],
    ['a kind that would not count', 'rate_limited', withStatus(429)],
    ['a kind of a permanent error', 'not_found', withStatus(404)],
    ['a category', 'permanent', withStatus(404)],
    ['a predicate', (error) => error === 'boom', 'boom'],
    ['a cause', Flaky, new Error('outer', { cause: new Flaky() })],
  ])('counts errors that match %s', (_, matcher, error) => {
    expect(failures([matcher], error)).toBe(1)
  })

  it('does not count errors that no entry matches, transient or not', () => {
    expect(failures([Flaky, 'rate_limited'], withStatus(503))).toBe(0)
    expect(failures([Flaky, 'rate_limited'], new Error('boom'))).toBe(0)
  })

  it('counts errors that any of its entries matches', () => {
    expect(failures(['nothing_like_it', Flaky], new Flaky())).toBe(1)
  })

  it('counts no error where it is empty', () => {
    expect(failures([], withStatus(503))).toBe(0)
  })

  it('does not apply to a failure without an error', () => {
    const { breaker } = made({ failureOn: [] })
    admitted(breaker).failure()
    expect(breaker.failureCount).toBe(1)
  })

  it('with a predicate that throws counts nothing, and reports it once', () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const oops = new Error('oops')
    const { breaker } = made({
      failureOn: [
        () => {
          throw oops
        },
      ],
    })
    for (let i = 0; i < 3; i++) admitted(breaker).failure(new Error('boom'))
    expect(breaker.failureCount).toBe(0)
    expect(said).toHaveBeenCalledTimes(1)
    expect(said.mock.lastCall?.[0]).toContain('failureOn')
    expect(said.mock.lastCall?.[1]).toBe(oops)
  })

  it('applies to the breaker of a guard', async () => {
    const kept = guard({ clock: fakeClock(), retry: false, breaker: { failureOn: ['not_found'] } })
    await kept.run(() => Promise.reject(withStatus(404))).catch(() => {})
    await kept.run(() => Promise.reject(withStatus(503))).catch(() => {})
    expect(kept.breaker?.failureCount).toBe(1)
  })

  it('is copied, so that a later change of the array has no effect', () => {
    const failureOn: Matcher[] = []
    const { breaker } = made({ failureOn })
    failureOn.push(Error)
    admitted(breaker).failure(new Error('boom'))
    expect(breaker.failureCount).toBe(0)
  })
})

describe('a permit', () => {
  it('counts a failure without an error', () => {
    const { breaker } = made()
    admitted(breaker).failure()
    expect(breaker.failureCount).toBe(1)
  })

  it.each(COUNTED)('counts a failure with %s', (_, error) => {
    const { breaker } = made()
    admitted(breaker).failure(error)
    expect(breaker.failureCount).toBe(1)
  })

  it.each(NOT_COUNTED)('does not count a failure with %s', (_, error) => {
    const { breaker } = made()
    admitted(breaker).failure(error)
    expect(breaker.failureCount).toBe(0)
  })

  const ENDS = ['success', 'failure', 'ignore'] as const

  it.each(ENDS)('that ended with %s ignores further outcomes', (end) => {
    const { breaker } = made({ windowType: 'consecutive', failureThreshold: 9 })
    admitted(breaker).failure()
    const permit = admitted(breaker)
    permit[end]()
    const count = breaker.failureCount
    for (const again of ENDS) permit[again]()
    expect(breaker.failureCount).toBe(count)
  })

  it.each(ENDS)('that ended with %s counts a probe once', async (end) => {
    const { breaker, clock } = made({ timeoutDuration: 1000, successThreshold: 2, halfOpenMax: 2 })
    breaker.trip()
    await clock.advance(1000)
    const permit = admitted(breaker)
    permit[end]()
    const before = breaker.snapshot()
    for (const again of ENDS) permit[again]()
    expect(breaker.snapshot()).toEqual(before)
  })

  it('that was ignored does not count as a failure', () => {
    const { breaker } = made({ failureThreshold: 1 })
    admitted(breaker).ignore()
    expect(breaker.state).toBe('closed')
    expect(breaker.snapshot().lastFailureTime).toBeUndefined()
  })
})

describe('a breaker that opens during a call', () => {
  it('ends the call with the error that opened it', async () => {
    const down = new Error('down')
    let calls = 0
    const kept = guard({
      clock: fakeClock(),
      retry: { maxAttempts: 5, backoffType: 'immediate' },
      breaker: { failureThreshold: 2 },
    })
    const fails = () => {
      calls++
      throw down
    }
    await expect(kept.run(fails)).rejects.toBe(down)
    expect(calls).toBe(2)
    await expect(kept.run(fails)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', retryAfter: 30_000 })
    expect(calls).toBe(2)
  })

  it('can be shared between guards', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ clock, failureThreshold: 1 })
    const [a, b] = [guard({ clock, retry: false, breaker }), guard({ clock, retry: false, breaker })]
    await a.run(() => Promise.reject(new Error('down'))).catch(() => {})
    await expect(b.run(() => 'up')).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })
})
