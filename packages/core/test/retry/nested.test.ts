import { describe, expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { CircuitBreaker, guard, Pool, RetryBudget, type RetryOptions, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate, rejection } from '../guard/watch.js'

const IMMEDIATE = { maxAttempts: 3, backoffType: 'immediate' } as const
const STOP = { ...IMMEDIATE, nested: 'stop' } as const
const down = () => errorWith({ code: 'ECONNRESET' })
const fail = () => Promise.reject(down())

/** Counts the calls of the function inside both guards. */
async function callsOf(inner: ReturnType<typeof guard>, retry: RetryOptions, fn = fail) {
  let calls = 0
  const error = await rejection(
    guard({ retry }).run(() =>
      inner.run(() => {
        calls++
        return fn()
      }),
    ),
  )
  return { calls, error, stopped: sessionOf(error)?.stopped }
}

describe("retry.nested: 'stop'", () => {
  it('does not retry an error for which an inner guard made all its attempts', async () => {
    const { calls, stopped, error } = await callsOf(guard({ name: 'inner', retry: IMMEDIATE }), STOP)
    expect({ calls, stopped }).toEqual({ calls: 3, stopped: 'nested' })
    expect(sessionOf(error)?.inner).toMatchObject([{ operation: 'inner', stopped: 'attempts_spent' }])
  })

  it('is off by default', async () => {
    expect(await callsOf(guard({ retry: IMMEDIATE }), IMMEDIATE)).toMatchObject({
      calls: 9,
      stopped: 'attempts_spent',
    })
  })

  it('retries an error of an inner guard that allows only one attempt', async () => {
    expect(await callsOf(guard({ retry: false }), STOP)).toMatchObject({
      calls: 3,
      stopped: 'attempts_spent',
    })
  })

  it('retries an error that the inner guard did not retry for another reason', async () => {
    const inner = guard({ retry: { ...IMMEDIATE, abortOn: ['ECONNRESET'] } })
    expect(await callsOf(inner, STOP)).toMatchObject({ calls: 3, stopped: 'attempts_spent' })
  })

  it('does not retry where the deadline of the inner guard passed', async () => {
    const clock = fakeClock()
    const inner = guard({ clock, retry: { ...IMMEDIATE }, timeout: { total: 10 } })
    let calls = 0
    const call = fate(
      guard({ clock, retry: STOP }).run(() => {
        calls++
        return inner.run(() => new Promise(() => {}))
      }),
    )
    await clock.advance(100)
    expect(call).toMatchObject({ error: { code: 'TOTAL_TIMEOUT' } })
    expect(sessionOf(call.error)?.stopped).toBe('nested')
    expect(calls).toBe(1)
  })

  it('does not retry where the budget of the inner guard is empty', async () => {
    const budget = new RetryBudget({ ratio: 0, reservePerSecond: 0 })
    expect(await callsOf(guard({ retry: IMMEDIATE, budget }), STOP)).toMatchObject({
      calls: 1,
      stopped: 'nested',
    })
  })

  it('does not retry where the breaker of the inner guard is open, whatever retryOn lists', async () => {
    const breaker = new CircuitBreaker({ id: 'b' })
    breaker.trip()
    const inner = guard({ retry: IMMEDIATE, breaker })
    const retry = { ...STOP, retryOn: ['CIRCUIT_OPEN'] }
    expect(await callsOf(inner, retry)).toMatchObject({ calls: 0, stopped: 'nested' })
  })

  it('looks through causes', async () => {
    const inner = guard({ retry: IMMEDIATE })
    const error = await rejection(
      guard({ retry: { ...STOP, retryIf: () => true } }).run(async () => {
        try {
          await inner.run(fail)
        } catch (cause) {
          throw new Error('cannot load', { cause })
        }
      }),
    )
    expect(sessionOf(error)?.stopped).toBe('nested')
  })

  it('stops over any number of layers, also through guards with one attempt', async () => {
    const inner = guard({ retry: IMMEDIATE })
    const middle = [guard({ retry: STOP }), guard({ retry: false }), guard({ retry: { retryOn: [] } })]
    for (const between of middle) {
      let calls = 0
      const error = await rejection(
        guard({ retry: STOP }).run(() =>
          between.run(() => {
            calls++
            return inner.run(fail)
          }),
        ),
      )
      expect({ calls, stopped: sessionOf(error)?.stopped }).toEqual({ calls: 1, stopped: 'nested' })
    }
  })

  it('retries an error of its own after an inner call failed in the same attempt', async () => {
    const inner = guard({ retry: IMMEDIATE })
    const error = await rejection(
      guard({ retry: STOP }).run(async () => {
        await inner.run(fail).catch(() => {})
        throw down()
      }),
    )
    expect(sessionOf(error)).toMatchObject({ stopped: 'attempts_spent' })
  })

  it('retries an error with the session of an earlier call', async () => {
    const error = await rejection(guard({ retry: IMMEDIATE }).run(fail))
    expect(await rejection(guard({ retry: STOP }).run(() => Promise.reject(error)))).toBe(error)
    expect(sessionOf(error)).toMatchObject({ stopped: 'attempts_spent', attempts: { length: 3 } })
  })

  it('fails over to an untried member of a pool', async () => {
    const members = ['a', 'b'].map((id) => ({ id, value: guard({ name: id, retry: IMMEDIATE }) }))
    const seen: string[] = []
    const error = await rejection(
      guard({ retry: { ...STOP, maxAttempts: 5 }, pool: new Pool({ id: 'p', members }) }).run(
        ({ member }) => {
          seen.push(member.id)
          return member.value.run(fail)
        },
      ),
    )
    expect(seen.toSorted()).toEqual(['a', 'b'])
    expect(sessionOf(error)?.stopped).toBe('nested')
  })

  it('starts no hedge after a failure for which an inner guard made all its attempts', async () => {
    const clock = fakeClock()
    const inner = guard({ clock, retry: IMMEDIATE })
    let calls = 0
    const call = fate(
      guard({ clock, retry: STOP, hedge: { delay: 50, max: 3 } }).run(() => {
        calls++
        return inner.run(fail)
      }),
    )
    await clock.advance(500)
    expect(sessionOf(call.error)?.stopped).toBe('nested')
    expect(calls).toBe(1)
  })

  it("accepts only 'retry' and 'stop'", () => {
    expect(() => guard({ retry: { nested: 'never' as never } })).toThrow(/retry\.nested.*retry, stop/)
  })
})

describe("a fetch with nested: 'stop'", () => {
  const send = (headers: Record<string, string>, retry: RetryOptions = STOP, status = 503) => {
    let calls = 0
    const fetch = createFetch({
      fetch: async () => {
        calls++
        return new Response(null, { status, headers })
      },
      retry,
    })
    return fetch('https://api.example').then((response) => ({
      calls,
      stopped: sessionOf(response)?.stopped,
    }))
  }

  it.each([
    ['x-retries-exhausted', '1'],
    ['grpc-retry-pushback-ms', '-1'],
    ['x-envoy-overloaded', 'true'],
    ['x-envoy-overloaded', ''],
  ])('does not retry an answer with %s: %s', async (name, value) => {
    expect(await send({ [name]: value })).toEqual({ calls: 1, stopped: 'nested' })
    expect(await send({ [name]: value }, STOP, 429)).toEqual({ calls: 1, stopped: 'nested' })
    expect(await send({ [name]: value }, IMMEDIATE)).toEqual({ calls: 3, stopped: 'attempts_spent' })
  })

  it.each([
    ['x-retries-exhausted', '0'],
    ['grpc-retry-pushback-ms', '0'],
    ['grpc-retry-pushback-ms', '20'],
    ['x-other', '1'],
  ])('retries an answer with %s: %s', async (name, value) => {
    expect(await send({ [name]: value })).toEqual({ calls: 3, stopped: 'attempts_spent' })
  })

  it('does not retry an answer for which a fetch inside made all its attempts', async () => {
    let calls = 0
    const inner = createFetch({
      fetch: async () => {
        calls++
        return new Response(null, { status: 503 })
      },
      retry: IMMEDIATE,
    })
    const response = await createFetch({ fetch: inner, retry: STOP })('https://api.example')
    expect(sessionOf(response)?.stopped).toBe('nested')
    expect(calls).toBe(3)
  })

  it('fails over to an untried member of a pool', async () => {
    const seen: string[] = []
    const members = ['a', 'b'].map((id) => ({ id, value: { origin: `https://${id}.example` } }))
    const fetch = createFetch({
      fetch: async (input) => {
        seen.push(new Request(input).url)
        return new Response(null, { status: 503, headers: { 'x-retries-exhausted': '1' } })
      },
      pool: new Pool({ id: 'p', members }),
      retry: { ...STOP, maxAttempts: 5 },
    })
    const response = await fetch('https://api.example/x')
    expect(seen.toSorted()).toEqual(['https://a.example/x', 'https://b.example/x'])
    expect(sessionOf(response)?.stopped).toBe('nested')
  })

  it('stops a value that retryIf retries', async () => {
    const retry = { ...STOP, retryIf: () => true }
    expect(await send({ 'x-retries-exhausted': '1' }, retry, 200)).toEqual({
      calls: 1,
      stopped: 'unwanted_value',
    })
  })
})
