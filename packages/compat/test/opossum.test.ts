// Each documented behaviour of opossum 9.0.0, with the original and with ours.
import { EventEmitter } from 'node:events'
import Original from 'opossum'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import Ours from '../src/opossum/index.js'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const failure = new Error('fixture')
const passFail = async (value: number) => {
  if (value < 0) throw failure
  return value
}
const sleeping = (ms: number) => new Promise<string>((resolve) => setTimeout(resolve, ms, 'slept'))

type Circuit = InstanceType<typeof Ours>

/** Records the events of a circuit with their arguments. */
function recordEvents(breaker: Circuit): unknown[][] {
  const events: unknown[][] = []
  for (const event of [
    'halfOpen',
    'close',
    'open',
    'shutdown',
    'fire',
    'cacheHit',
    'cacheMiss',
    'coalesceCacheHit',
    'coalesceCacheMiss',
    'reject',
    'timeout',
    'success',
    'semaphoreLocked',
    'healthCheckFailed',
    'fallback',
    'failure',
  ])
    (breaker as EventEmitter).on(event, (...args: unknown[]) => events.push([event, ...args]))
  return events
}

/** The value of a call, or `[message, code]` of its error. */
const outcome = (call: unknown): Promise<unknown> =>
  Promise.resolve(call).catch((error: Error & { code?: string }) => [error.message, error.code])

const REJECTED = ['Breaker is open', 'EOPENBREAKER']

describe.each<[string, typeof Ours]>([
  ['opossum', Original as never],
  ['@holdfast/compat/opossum', Ours],
])('%s', (_, CircuitBreaker) => {
  /** Creates a circuit whose action takes any arguments. */
  const create = (action: unknown = passFail, options: object = {}): Circuit =>
    new CircuitBreaker(action as never, options)

  describe('options', () => {
    it('have these defaults, in the object of the caller', () => {
      const options: Record<string, unknown> = {}
      const breaker = create(passFail, options)
      expect(breaker.options).toBe(options)
      const { errorFilter, cacheGetKey, ...plain } = options
      expect(plain).toMatchObject({
        timeout: 10_000,
        resetTimeout: 30_000,
        errorThresholdPercentage: 50,
        rollingCountTimeout: 10_000,
        rollingCountBuckets: 10,
        rollingPercentilesEnabled: true,
        capacity: Number.MAX_SAFE_INTEGER,
        cacheTTL: 0,
        enableSnapshots: true,
        coalesce: false,
        coalesceTTL: 10_000,
        coalesceResetOn: [],
      })
      expect((errorFilter as () => unknown)()).toBe(false)
      expect((cacheGetKey as (...args: unknown[]) => unknown)(1, 'a')).toBe('[1,"a"]')
    })

    it('keep numbers that are 0', () => {
      const zeros = { timeout: 0, resetTimeout: 0, errorThresholdPercentage: 0, cacheTTL: 0, coalesceTTL: 0 }
      expect(create(passFail, { ...zeros }).options).toMatchObject(zeros)
    })

    it('name and group: given, the name of the action, or random', () => {
      const named = create(passFail, { name: 'orders', group: 'shop' })
      expect([named.name, named.group]).toEqual(['orders', 'shop'])
      const unnamed = create()
      expect([unnamed.name, unnamed.group]).toEqual(['passFail', 'passFail'])
      expect(create(() => 1).name).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    })

    it('reject a missing action, a cache transport without methods and a controller without abort', () => {
      expect(() => create(null)).toThrow(
        new TypeError('No action provided. Cannot construct a CircuitBreaker without an invocable action.'),
      )
      const methods = { get: () => undefined, set: () => {}, flush: () => {} }
      for (const cacheTransport of [5, {}, Object.assign(() => {}, methods)])
        expect(() => create(passFail, { cache: true, cacheTransport })).toThrow(
          'options.cacheTransport should be an object with `get`, `set` and `flush` methods',
        )
      expect(() => create(passFail, { abortController: {} })).toThrow(
        'AbortController does not contain `abort()` method',
      )
    })

    it('report maxFailures as deprecated', () => {
      const log = vi.spyOn(console, 'error').mockImplementation(() => {})
      create(passFail, { maxFailures: 3 })
      expect(log).toHaveBeenCalledExactlyOnceWith(
        'options.maxFailures is deprecated. Please use options.errorThresholdPercentage',
      )
    })
  })

  describe('a call', () => {
    it('passes the arguments on and resolves with the value', async () => {
      const action = vi.fn((...args: number[]) => args.length)
      const breaker = create(action)
      const call = breaker.fire(1, 2, 3)
      expect(action).toHaveBeenCalledExactlyOnceWith(1, 2, 3)
      expect(await call).toBe(3)
    })

    it('accepts an action that is a value or a promise', async () => {
      expect(await create('value').fire()).toBe('value')
      expect(await create(Promise.resolve('promised')).fire()).toBe('promised')
    })

    it('has the context of call as this', async () => {
      const breaker = create(async function (this: { base: number }, add: number) {
        return this.base + add
      })
      expect(await breaker.call({ base: 5 }, 2)).toBe(7)
    })

    it.each(['throws', 'rejects'])('rejects with the error if the action %s', async (how) => {
      const breaker = create(() => {
        if (how === 'throws') throw failure
        return Promise.reject(failure)
      })
      const events = recordEvents(breaker)
      await expect(breaker.fire(1)).rejects.toBe(failure)
      expect(events).toEqual([['fire', [1]], ['failure', failure, 0, [1]], ['open']])
    })

    it('emits fire and success, with the latency', async () => {
      const breaker = create(sleeping)
      const events = recordEvents(breaker)
      const call = breaker.fire(70)
      await vi.advanceTimersByTimeAsync(100)
      expect(await call).toBe('slept')
      expect(events).toEqual([
        ['fire', [70]],
        ['success', 'slept', 70],
      ])
    })

    it('ends at the timeout, with ETIMEDOUT', async () => {
      const breaker = create(sleeping, { timeout: 50 })
      const events = recordEvents(breaker)
      const call = outcome(breaker.fire(1000))
      await vi.advanceTimersByTimeAsync(60)
      expect(await call).toEqual(['Timed out after 50ms', 'ETIMEDOUT'])
      expect(events.map(([event]) => event)).toEqual(['fire', 'timeout', 'failure', 'open'])
      const [, [, error, latency, args]] = events as [unknown[], unknown[]]
      expect(error).toMatchObject({ code: 'ETIMEDOUT' })
      expect(latency).toBe(50)
      expect(args).toEqual([1000])
      await vi.advanceTimersByTimeAsync(2000)
      expect(events.length).toBe(4)
      expect(breaker.stats).toMatchObject({ timeouts: 1, failures: 1, successes: 0, fires: 1 })
    })

    it.each([false, 0])('has no timeout with %s', async (timeout) => {
      const call = create(sleeping, { timeout }).fire(100_000)
      await vi.advanceTimersByTimeAsync(100_000)
      expect(await call).toBe('slept')
    })

    it('isOurError tells errors of the circuit from errors of the action', async () => {
      const breaker = create()
      expect(CircuitBreaker.isOurError((await breaker.fire(-1).catch((error) => error)) as Error)).toBe(false)
      expect(CircuitBreaker.isOurError((await breaker.fire(1).catch((error) => error)) as Error)).toBe(true)
    })
  })

  describe('states', () => {
    const facts = ({ closed, opened, halfOpen, pendingClose }: Circuit) => ({
      closed,
      opened,
      halfOpen,
      pendingClose,
    })
    const CLOSED = { closed: true, opened: false, halfOpen: false, pendingClose: false }
    const OPEN = { closed: false, opened: true, halfOpen: false, pendingClose: false }
    const HALF_OPEN = { closed: false, opened: false, halfOpen: true, pendingClose: true }
    const PROBING = { closed: false, opened: false, halfOpen: true, pendingClose: false }

    it('opens when more than errorThresholdPercentage of the calls fail', async () => {
      const breaker = create(passFail, { errorThresholdPercentage: 50 })
      await breaker.fire(1)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(CLOSED)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(OPEN)
      expect(await outcome(breaker.fire(1))).toEqual(REJECTED)
      expect(breaker.stats).toMatchObject({ fires: 4, failures: 2, successes: 1, rejects: 1 })
    })

    it('becomes half-open after resetTimeout and admits one call, which closes it', async () => {
      const breaker = create(passFail, { resetTimeout: 100 })
      await outcome(breaker.fire(-1))
      await vi.advanceTimersByTimeAsync(99)
      expect(facts(breaker)).toEqual(OPEN)
      const events = recordEvents(breaker)
      await vi.advanceTimersByTimeAsync(1)
      expect(facts(breaker)).toEqual(HALF_OPEN)
      const probe = breaker.fire(1)
      expect(facts(breaker)).toEqual(PROBING)
      expect(await outcome(breaker.fire(2))).toEqual(REJECTED)
      expect(await probe).toBe(1)
      expect(facts(breaker)).toEqual(CLOSED)
      expect(events.map(([event]) => event)).toEqual(
        expect.arrayContaining(['halfOpen', 'fire', 'reject', 'close', 'success']),
      )
      expect(events[0]).toEqual(['halfOpen', 100])
    })

    it('opens again if the probe fails, whatever the volume threshold', async () => {
      const breaker = create(passFail, { resetTimeout: 100, volumeThreshold: 10 })
      breaker.open()
      await vi.advanceTimersByTimeAsync(100)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(OPEN)
      await vi.advanceTimersByTimeAsync(100)
      expect(facts(breaker)).toEqual(HALF_OPEN)
    })

    it('open and close change the state, and emit only if it changes', async () => {
      const breaker = create()
      const events = recordEvents(breaker)
      breaker.close()
      breaker.open()
      breaker.open()
      expect(facts(breaker)).toEqual(OPEN)
      breaker.close()
      expect(facts(breaker)).toEqual(CLOSED)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(events).toEqual([['open'], ['close']])
      expect(await breaker.fire(1)).toBe(1)
    })

    it('stays closed below volumeThreshold', async () => {
      const breaker = create(passFail, { volumeThreshold: 3 })
      expect(breaker.volumeThreshold).toBe(3)
      await outcome(breaker.fire(-1))
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(CLOSED)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(OPEN)
    })

    it('stays closed during the warm-up', async () => {
      const breaker = create(passFail, { allowWarmUp: true, rollingCountTimeout: 500 })
      expect(breaker.warmUp).toBe(true)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(CLOSED)
      await vi.advanceTimersByTimeAsync(500)
      expect(breaker.warmUp).toBe(false)
      await outcome(breaker.fire(-1))
      expect(facts(breaker)).toEqual(OPEN)
    })

    it('shutdown rejects further calls and removes listeners', async () => {
      const breaker = create(passFail, { cache: true })
      const events = recordEvents(breaker)
      breaker.shutdown()
      expect(events).toEqual([['shutdown']])
      expect([breaker.isShutdown, breaker.enabled]).toEqual([true, false])
      expect(facts(breaker)).toEqual({ ...CLOSED, closed: false })
      expect(await outcome(breaker.fire(1))).toEqual(['The circuit has been shutdown.', 'ESHUTDOWN'])
      expect(breaker.listenerCount('open')).toBe(0)
      expect(breaker.status.listenerCount('snapshot')).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
    })

    it('disable runs the action without limits, enable restores them', async () => {
      const breaker = create(passFail, { resetTimeout: 100 })
      breaker.fallback(() => 'fallback')
      breaker.open()
      breaker.disable()
      expect(breaker.enabled).toBe(false)
      expect(await breaker.fire(1)).toBe(1)
      await expect(breaker.fire(-1)).rejects.toBe(failure)
      breaker.enable()
      expect(await breaker.fire(1)).toBe('fallback')
      expect(create(passFail, { enabled: false }).enabled).toBe(false)
    })

    it('toJSON and the options state and status restore a circuit', async () => {
      const breaker = create(passFail, { name: 'orders' })
      await outcome(breaker.fire(-1))
      const { state, status } = breaker.toJSON()
      expect(state).toMatchObject({
        name: 'orders',
        enabled: true,
        closed: false,
        open: true,
        halfOpen: false,
        warmUp: false,
        shutdown: false,
      })
      expect(state.lastTimerAt).toBe(0)
      const restored = create(passFail, { state, status })
      expect(facts(restored)).toEqual(OPEN)
      expect(restored.stats).toMatchObject({ failures: 1, fires: 1 })
      await vi.advanceTimersByTimeAsync(30_000)
      expect(facts(restored)).toEqual(HALF_OPEN)
    })

    it.each([
      [{}, CLOSED],
      [{ closed: true }, CLOSED],
      [{ closed: false, halfOpen: true }, HALF_OPEN],
      [{ closed: false, open: true }, OPEN],
      [{ closed: false, open: true, lastTimerAt: -30_000 }, OPEN],
      [{ closed: false, open: true, lastTimerAt: -30_001 }, HALF_OPEN],
    ])('restores %o', (state, expected) => {
      expect(facts(create(passFail, { state }))).toEqual(expected)
    })

    it('restores enabled, warmUp and shutdown', () => {
      expect(create(passFail, { state: { enabled: false } }).enabled).toBe(false)
      expect(create(passFail, { state: { warmUp: true } }).warmUp).toBe(true)
      expect(create(passFail, { state: { shutdown: true } }).isShutdown).toBe(true)
    })
  })

  describe('errorFilter', () => {
    it('counts a filtered error as a success; the call still rejects, without the fallback', async () => {
      const errorFilter = vi.fn(() => true)
      const breaker = create(passFail, { errorFilter })
      const fallback = vi.fn()
      breaker.fallback(fallback)
      const events = recordEvents(breaker)
      await expect(breaker.fire(-1)).rejects.toBe(failure)
      expect(errorFilter).toHaveBeenCalledExactlyOnceWith(failure, -1)
      expect(events).toEqual([
        ['fire', [-1]],
        ['success', failure, 0],
      ])
      expect(breaker.closed).toBe(true)
      expect(fallback).not.toHaveBeenCalled()
    })

    it('rejects the call if it throws for an error that the action throws synchronously', async () => {
      const breaker = create(
        () => {
          throw failure
        },
        {
          errorFilter: () => {
            throw new RangeError('filter')
          },
        },
      )
      expect(await outcome(breaker.fire())).toEqual(['filter', undefined])
    })

    it('closes a half-open circuit with a filtered error', async () => {
      const breaker = create(passFail, { errorFilter: () => true, resetTimeout: 10 })
      breaker.open()
      await vi.advanceTimersByTimeAsync(10)
      await outcome(breaker.fire(-1))
      expect(breaker.closed).toBe(true)
    })
  })

  describe('fallback', () => {
    it('gets the arguments and the error, and its result is that of the call', async () => {
      const fallback = vi.fn((value: number, error: Error) => `${value} ${error.message}`)
      const breaker = create()
      expect(breaker.fallback(fallback)).toBe(breaker)
      const events = recordEvents(breaker)
      expect(await breaker.fire(-1)).toBe('-1 fixture')
      expect(events.slice(1)).toEqual([
        ['failure', failure, 0, [-1]],
        ['open'],
        ['fallback', '-1 fixture', failure],
      ])
      expect(await breaker.fire(1)).toBe('1 Breaker is open')
      expect(breaker.stats.fallbacks).toBe(2)
    })

    it('can be asynchronous, throw, or be another circuit', async () => {
      const asynchronous = create()
      asynchronous.fallback(async () => 'later')
      expect(await asynchronous.fire(-1)).toBe('later')
      const throwing = create()
      throwing.fallback(() => {
        throw new Error('no fallback')
      })
      expect(await outcome(throwing.fire(-1))).toEqual(['no fallback', undefined])
      const chained = create()
      chained.fallback(create((value: number) => `instead of ${value}`))
      expect(await chained.fire(-1)).toBe('instead of -1')
    })
  })

  describe('capacity', () => {
    it('rejects calls above the capacity', async () => {
      const breaker = create(sleeping, { capacity: 2, errorThresholdPercentage: 100 })
      const events = recordEvents(breaker)
      const calls = [1, 2].map(() => breaker.fire(100))
      expect(breaker.semaphore.count).toBe(0)
      expect(await outcome(breaker.fire(100))).toEqual(['Semaphore locked', 'ESEMLOCKED'])
      expect(events.map(([event]) => event)).toEqual(['fire', 'fire', 'fire', 'semaphoreLocked', 'failure'])
      await vi.advanceTimersByTimeAsync(100)
      expect(await Promise.all(calls)).toEqual(['slept', 'slept'])
      expect(breaker.semaphore.count).toBe(2)
      expect(breaker.stats).toMatchObject({ semaphoreRejections: 1, failures: 1, successes: 2 })
    })

    it('releases a slot after an error and at the timeout', async () => {
      const breaker = create(
        (ms: number) => {
          if (ms < 0) throw failure
          return sleeping(ms)
        },
        { capacity: 1, timeout: 10, errorThresholdPercentage: 100 },
      )
      await outcome(breaker.fire(-1))
      expect(breaker.semaphore.count).toBe(1)
      const call = outcome(breaker.fire(1000))
      expect(breaker.semaphore.count).toBe(0)
      await vi.advanceTimersByTimeAsync(10)
      await call
      expect(breaker.semaphore.count).toBe(1)
    })

    it('has a semaphore that waits for a slot, with a timeout', async () => {
      const { semaphore } = create(passFail, { capacity: 1 })
      expect([semaphore.test(), semaphore.test()]).toEqual([true, false])
      const taken = semaphore.take()
      semaphore.release()
      expect(await taken).toBe(semaphore.release)
      const late = outcome(semaphore.take(20))
      await vi.advanceTimersByTimeAsync(20)
      expect(await late).toEqual(['Timed out after 20ms', 'ETIMEDOUT'])
    })
  })

  describe('cache', () => {
    it('returns the cached result for the same arguments until clearCache', async () => {
      const action = vi.fn(passFail)
      const breaker = create(action, { cache: true })
      const events = recordEvents(breaker)
      await breaker.fire(1)
      expect(await breaker.fire(1)).toBe(1)
      expect(await breaker.fire(2)).toBe(2)
      expect(action).toHaveBeenCalledTimes(2)
      expect(events.map(([event]) => event).filter((event) => /cache/.test(`${event}`))).toEqual([
        'cacheMiss',
        'cacheHit',
        'cacheMiss',
      ])
      breaker.clearCache()
      await breaker.fire(1)
      expect(action).toHaveBeenCalledTimes(3)
      expect(breaker.stats).toMatchObject({ cacheHits: 1, cacheMisses: 3 })
    })

    it('does not cache failures', async () => {
      const action = vi.fn(passFail)
      const breaker = create(action, { cache: true, errorThresholdPercentage: 100 })
      await outcome(breaker.fire(-1))
      await outcome(breaker.fire(-1))
      expect(action).toHaveBeenCalledTimes(2)
    })

    it('has a lifetime, a size and a key', async () => {
      const action = vi.fn(passFail)
      const breaker = create(action, {
        cache: true,
        cacheTTL: 100,
        cacheSize: 1,
        cacheGetKey: (n: number) => n % 2,
      })
      await breaker.fire(1)
      expect(await breaker.fire(3)).toBe(1)
      await breaker.fire(2)
      expect(await breaker.fire(3)).toBe(3)
      await vi.advanceTimersByTimeAsync(100)
      expect(await breaker.fire(5)).toBe(5)
      expect(action).toHaveBeenCalledTimes(4)
    })

    it('uses a transport', async () => {
      const cacheTransport = { get: vi.fn(), set: vi.fn(), flush: vi.fn() }
      const breaker = create(passFail, { cache: true, cacheTransport, cacheTTL: 50 })
      await breaker.fire(1)
      expect(cacheTransport.get).toHaveBeenCalledExactlyOnceWith('[1]')
      expect(cacheTransport.set).toHaveBeenCalledExactlyOnceWith('[1]', expect.any(Promise), 50)
      breaker.clearCache()
      expect(cacheTransport.flush).toHaveBeenCalledTimes(1)
    })
  })

  describe('coalesce', () => {
    it('shares a running call', async () => {
      const action = vi.fn(sleeping)
      const breaker = create(action, { coalesce: true })
      const calls = [breaker.fire(10), breaker.fire(10), breaker.fire(20)]
      expect(calls[0]).toBe(calls[1])
      await vi.advanceTimersByTimeAsync(20)
      expect(await Promise.all(calls)).toEqual(['slept', 'slept', 'slept'])
      expect(action).toHaveBeenCalledTimes(2)
      expect(breaker.stats).toMatchObject({ coalesceCacheHits: 1, coalesceCacheMisses: 2 })
    })

    it('ends with coalesceTTL', async () => {
      const action = vi.fn(passFail)
      const breaker = create(action, { coalesce: true, coalesceTTL: 100 })
      await breaker.fire(1)
      await breaker.fire(1)
      expect(action).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(100)
      await breaker.fire(1)
      expect(action).toHaveBeenCalledTimes(2)
    })

    it.each([
      ['success', 1],
      ['error', -1],
      ['timeout', 500],
    ])('ends on %s with coalesceResetOn', async (event, argument) => {
      const action = vi.fn((n: number) => (n === 500 ? sleeping(n) : passFail(n)))
      const options = { coalesce: true, timeout: 50, coalesceTTL: 0, errorThresholdPercentage: 100 }
      for (const coalesceResetOn of [[event], ['unknown']]) {
        const breaker = create(action, { ...options, coalesceResetOn })
        const call = outcome(breaker.fire(argument))
        await vi.advanceTimersByTimeAsync(50)
        await call
        void outcome(breaker.fire(argument))
        await vi.advanceTimersByTimeAsync(50)
      }
      expect(action).toHaveBeenCalledTimes(3)
    })
  })

  describe('abort controller', () => {
    it('is aborted at the timeout only', async () => {
      const abortController = new AbortController()
      const breaker = create(sleeping, { abortController, timeout: 50, errorThresholdPercentage: 100 })
      expect(breaker.getAbortController()).toBe(abortController)
      expect(breaker.getSignal()).toBe(abortController.signal)
      const fast = breaker.fire(10)
      await vi.advanceTimersByTimeAsync(10)
      await fast
      expect(abortController.signal.aborted).toBe(false)
      const slow = outcome(breaker.fire(100))
      await vi.advanceTimersByTimeAsync(50)
      await slow
      expect(abortController.signal.aborted).toBe(true)
    })

    it('is renewed when the circuit is half-open with autoRenewAbortController', async () => {
      const breaker = create(sleeping, { autoRenewAbortController: true, timeout: 50, resetTimeout: 100 })
      const first = breaker.getSignal()
      const slow = outcome(breaker.fire(1000))
      await vi.advanceTimersByTimeAsync(50)
      await slow
      expect(first?.aborted).toBe(true)
      await vi.advanceTimersByTimeAsync(100)
      expect(breaker.getSignal()).not.toBe(first)
      expect(breaker.getSignal()?.aborted).toBe(false)
    })

    it('is absent by default', () => {
      expect([create().getSignal(), create().getAbortController()]).toEqual([undefined, undefined])
    })
  })

  describe('healthCheck', () => {
    it('runs at once and periodically with the circuit as this, and opens the circuit when it rejects', async () => {
      const breaker = create()
      const events = recordEvents(breaker)
      let isHealthy = true
      const check = vi.fn(async function (this: unknown) {
        expect(this).toBe(breaker)
        if (!isHealthy) throw failure
      })
      breaker.healthCheck(check, 100)
      expect(check).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(100)
      expect(breaker.closed).toBe(true)
      isHealthy = false
      await vi.advanceTimersByTimeAsync(100)
      expect(check).toHaveBeenCalledTimes(3)
      expect(events).toEqual([['healthCheckFailed', failure], ['open']])
      expect(breaker.opened).toBe(true)
    })

    it('runs every 5 s by default', async () => {
      const check = vi.fn(async () => {})
      create().healthCheck(check)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(check).toHaveBeenCalledTimes(3)
    })

    it('rejects arguments that are not valid', () => {
      expect(() => create().healthCheck('x' as never)).toThrow(
        new TypeError('Health check function must be a function'),
      )
      expect(() => create().healthCheck(async () => {}, 'x' as never)).toThrow(
        new TypeError('Health check interval must be a number'),
      )
    })
  })

  describe('status', () => {
    it('has a window of buckets that rotates', async () => {
      const breaker = create(passFail, { rollingCountTimeout: 100, rollingCountBuckets: 2 })
      await breaker.fire(1)
      expect(breaker.status.window.map(({ fires }) => fires)).toEqual([1, 0])
      await vi.advanceTimersByTimeAsync(50)
      expect(breaker.status.window.map(({ fires }) => fires)).toEqual([0, 1])
      await vi.advanceTimersByTimeAsync(50)
      expect(breaker.stats.fires).toBe(0)
    })

    it('has these properties', () => {
      const { stats } = create()
      expect(stats).toEqual({
        failures: 0,
        fallbacks: 0,
        successes: 0,
        rejects: 0,
        fires: 0,
        timeouts: 0,
        cacheHits: 0,
        cacheMisses: 0,
        coalesceCacheHits: 0,
        coalesceCacheMisses: 0,
        semaphoreRejections: 0,
        percentiles: { 0: 0, 0.25: 0, 0.5: 0, 0.75: 0, 0.9: 0, 0.95: 0, 0.99: 0, 0.995: 0, 1: 0 },
        latencyTimes: [],
        latencyMean: 0,
      })
    })

    it.each([true, false])('computes percentiles and the mean: %s', async (rollingPercentilesEnabled) => {
      const breaker = create(sleeping, { rollingPercentilesEnabled })
      for (const ms of [30, 10, 20]) {
        const call = breaker.fire(ms)
        await vi.advanceTimersByTimeAsync(ms)
        await call
      }
      const { latencyTimes, latencyMean, percentiles } = breaker.stats
      if (rollingPercentilesEnabled) {
        expect([latencyTimes, latencyMean]).toEqual([[10, 20, 30], 20])
        expect([percentiles[0], percentiles[0.5], percentiles[1]]).toEqual([10, 20, 30])
      } else {
        expect([latencyTimes, latencyMean]).toEqual([[], -1])
        expect(new Set(Object.values(percentiles))).toEqual(new Set([-1]))
      }
    })

    it('marks the bucket in which the circuit opened and closed', () => {
      const breaker = create()
      breaker.open()
      expect(breaker.status.window[0]?.isCircuitBreakerOpen).toBe(true)
      breaker.close()
      expect(breaker.status.window[0]?.isCircuitBreakerOpen).toBe(false)
    })

    it.each([true, false])('emits snapshots: %s', async (enableSnapshots) => {
      const breaker = create(passFail, { enableSnapshots })
      const listener = vi.fn()
      breaker.status.on('snapshot', listener)
      await vi.advanceTimersByTimeAsync(2000)
      expect(listener).toHaveBeenCalledTimes(enableSnapshots ? 2 : 0)
    })

    it('newStatus creates statistics for the option status', () => {
      const status = CircuitBreaker.newStatus({ stats: { fires: 7, failures: 2 } as never })
      const breaker = create(passFail, { status })
      expect(breaker.status).toBe(status)
      expect(breaker.stats).toMatchObject({ fires: 7, failures: 2, successes: 0 })
    })

    it('rotates by the events of rotateBucketController while the circuit is enabled', async () => {
      const rotateBucketController = new EventEmitter()
      const breaker = create(passFail, { rotateBucketController, rollingCountBuckets: 2 })
      await breaker.fire(1)
      rotateBucketController.emit('rotate')
      expect(breaker.status.window.map(({ fires }) => fires)).toEqual([0, 1])
      await vi.advanceTimersByTimeAsync(60_000)
      expect(breaker.stats.fires).toBe(1)
      breaker.disable()
      expect(rotateBucketController.listenerCount('rotate')).toBe(0)
      breaker.enable()
      expect(rotateBucketController.listenerCount('rotate')).toBe(1)
      breaker.shutdown()
      expect(rotateBucketController.listenerCount('rotate')).toBe(0)
    })
  })
})

describe('@holdfast/compat/opossum, unlike opossum', () => {
  const both = async <T>(observe: (library: typeof Ours) => T | Promise<T>): Promise<[T, T]> => [
    await observe(Original as never),
    await observe(Ours),
  ]

  it('accepts an action that returns undefined', async () => {
    const fire = (CircuitBreaker: typeof Ours) =>
      outcome(new CircuitBreaker((() => undefined) as never).fire())
    expect(await both(fire)).toEqual([
      ["Cannot read properties of undefined (reading 'then')", undefined],
      undefined,
    ])
  })

  it('rejects the call if errorFilter or a listener throws; opossum leaves it pending, with an unhandled rejection', async () => {
    const errorFilter = () => {
      throw new RangeError('filter')
    }
    const circuit = new Ours(passFail, { errorFilter })
    expect(await outcome(circuit.fire(-1))).toEqual(['filter', undefined])

    const observed = new Ours(passFail)
    observed.on('failure', () => {
      throw new RangeError('listener')
    })
    expect(await outcome(observed.fire(-1))).toEqual(['listener', undefined])
    expect(observed.semaphore.count).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('restores the open time from the time at which the circuit opened, not from its creation', async () => {
    const lastTimerAt = async (CircuitBreaker: typeof Ours) => {
      vi.setSystemTime(0)
      const breaker = new CircuitBreaker(passFail as never)
      vi.setSystemTime(500)
      breaker.open()
      return breaker.toJSON().state.lastTimerAt
    }
    expect(await both(lastTimerAt)).toEqual([0, 500])
  })

  it('stays shut down when a running call fails later', async () => {
    const isShutdown = async (CircuitBreaker: typeof Ours) => {
      const breaker = new CircuitBreaker((() => sleeping(10).then(() => passFail(-1))) as never)
      const call = outcome(breaker.fire())
      breaker.status.increment('fires')
      breaker.shutdown()
      breaker.open()
      await vi.advanceTimersByTimeAsync(10)
      await call
      return breaker.isShutdown
    }
    expect(await both(isShutdown)).toEqual([false, true])
  })
})
