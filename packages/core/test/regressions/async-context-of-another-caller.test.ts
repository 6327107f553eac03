import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { Retry } from '../../src/decorators/index.js'
import { createFetch } from '../../src/http/index.js'
import { CircuitBreaker, guard, type Member, Pool } from '../../src/index.js'
import { tickingClock } from '../ticking-clock.js'

const caller = new AsyncLocalStorage<string>()
const never = () => new Promise<never>(() => {})
const down = new Error('down')

/** The caller in whose context each function ran. */
function sightings() {
  const seen: (string | undefined)[] = []
  return { seen, see: () => void seen.push(caller.getStore()) }
}

describe('the async context of a call', () => {
  it('is that of a caller that waited in the queue of a bulkhead, not of the call that released the slot', async () => {
    const { seen, see } = sightings()
    const api = guard({ bulkhead: { limit: 1, queue: 2 }, retry: false })
    let end = () => {}
    const first = caller.run('a', () =>
      api.run(() => {
        see()
        return new Promise<void>((resolve) => {
          end = resolve
        })
      }),
    )
    const others = ['b', 'c'].map((name) => caller.run(name, () => api.run(see)))
    end()
    await Promise.all([first, ...others])
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('is kept when an aborted call releases its bulkhead slot to the next', async () => {
    const { seen, see } = sightings()
    const api = guard({ bulkhead: { limit: 1, queue: 1 }, retry: false })
    const stop = new AbortController()
    const hanging = caller.run('a', () =>
      api.run(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)), {
        signal: stop.signal,
      }),
    )
    const queued = caller.run('b', () => api.run(see))
    caller.run('aborter', () => stop.abort(down))
    await expect(hanging).rejects.toBe(down)
    await queued
    expect(seen).toEqual(['b'])
  })

  it('is kept by an attempt after an attempt timeout, whose timer calls share', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({
      clock,
      timeout: { attempt: 100 },
      retry: { maxAttempts: 2, backoffType: 'immediate' },
    })
    const fn = ({ number }: { number: number }) => {
      see()
      return number === 1 ? never() : undefined
    }
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(fn)))
    await tick(100)
    await Promise.all(calls)
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })

  it('is kept with platform timers', async () => {
    const { seen, see } = sightings()
    const api = guard({ timeout: { attempt: 10 }, retry: { maxAttempts: 2, backoffType: 'immediate' } })
    const fn = ({ number }: { number: number }) => {
      see()
      return number === 1 ? never() : undefined
    }
    await Promise.all(['a', 'b'].map((name) => caller.run(name, () => api.run(fn))))
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })

  it('is kept over delays between attempts, regardless of what fires the timer', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({
      clock,
      timeout: { attempt: 1000, total: 10_000 },
      retry: { baseDelay: 50, jitterType: 'none' },
    })
    const fn = ({ number }: { number: number }) => {
      see()
      if (number < 3) throw down
    }
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(fn)))
    await tick(150)
    await Promise.all(calls)
    expect(seen).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  })

  it('is kept over a hundred attempts without a delay', async () => {
    const { seen, see } = sightings()
    const api = guard({ retry: { maxAttempts: 102, backoffType: 'immediate' } })
    const fn = ({ number }: { number: number }) => {
      if (number > 99) see()
      throw down
    }
    await caller.run('a', () => api.run(fn).catch(() => {}))
    expect(seen).toEqual(['a', 'a', 'a'])
  })

  it('is kept by the second call of a hedge', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({ clock, hedge: { delay: 20 }, retry: false })
    let calls = 0
    const fn = () => {
      see()
      return ++calls <= 2 ? never() : undefined
    }
    const both = ['a', 'b'].map((name) => caller.run(name, () => api.run(fn)))
    await tick(20)
    await Promise.all(both)
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })

  it('is kept by the functions of a pool, on a failover after a timeout too', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const choose = (members: readonly Member[]) => {
      see()
      return members[0]
    }
    const pool = new Pool({
      id: 'p',
      clock,
      members: [
        { id: 'm', value: 1 },
        { id: 'n', value: 2 },
      ],
      strategy: choose,
      memberFault: () => {
        see()
        return false
      },
    })
    const api = guard({
      clock,
      pool,
      timeout: { attempt: 100 },
      retry: { maxAttempts: 2, backoffType: 'immediate' },
    })
    const fn = ({ number }: { number: number }) => {
      see()
      return number === 1 ? never() : undefined
    }
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(fn)))
    await tick(100)
    await Promise.all(calls)
    expect(seen.filter((name) => name === 'a')).toHaveLength(seen.length / 2)
    expect(new Set(seen)).toEqual(new Set(['a', 'b']))
  })

  it('is kept by a fallback after the total timeout', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({ clock, timeout: { total: 100 }, fallback: see })
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(never)))
    await tick(100)
    await Promise.all(calls)
    expect(seen).toEqual(['a', 'b'])
  })

  it('is kept by a fallback after a total timeout that falls into a later attempt', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({
      clock,
      timeout: { total: 100 },
      retry: { maxAttempts: 2, backoffType: 'immediate' },
      fallback: see,
    })
    const fn = ({ number }: { number: number }) => {
      if (number === 1) throw down
      return never()
    }
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(fn)))
    await tick(100)
    await Promise.all(calls)
    expect(seen).toEqual(['a', 'b'])
  })

  it('is kept by the key function of breakers, retryIf, classify, backoff and matchers', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const api = guard({
      clock,
      timeout: { attempt: 10 },
      breaker: {
        key: () => {
          see()
          return 'k'
        },
      },
      classify: () => {
        see()
        return undefined
      },
      retry: {
        maxAttempts: 3,
        backoffType: () => {
          see()
          return 5
        },
        retryOn: [
          () => {
            see()
            return true
          },
        ],
        retryIf: () => {
          see()
          return false
        },
      },
    })
    const fn = ({ number }: { number: number }) => {
      see()
      return number === 1 ? never() : 'ok'
    }
    const one = async (name: string) => {
      const mine = sightings()
      await caller.run(name, () => api.run(fn).then(mine.see))
      expect(mine.seen).toEqual([name])
    }
    const calls = ['a', 'b'].map(one)
    await tick(1000)
    await Promise.all(calls)
    expect(seen.filter((name) => name === 'a')).toHaveLength(seen.length / 2)
    expect(new Set(seen)).toEqual(new Set(['a', 'b']))
  })

  it('is the context in which listeners of a guard and of a breaker are called', async () => {
    const heard: string[] = []
    const { clock, tick } = tickingClock(caller)
    const breaker = new CircuitBreaker({ failureThreshold: 3, clock })
    const api = guard({
      clock,
      breaker,
      bulkhead: { limit: 1, queue: 1 },
      timeout: { attempt: 10 },
      retry: { maxAttempts: 2, baseDelay: 5, jitterType: 'none' },
    })
    api.on(({ type }) => heard.push(`${type} ${caller.getStore()}`))
    breaker.on(({ toState }) => heard.push(`${toState} ${caller.getStore()}`))
    const calls = ['a', 'b'].map((name) => caller.run(name, () => api.run(never).catch(() => {})))
    // The slot is used until the functions settle, so each gets a call of its own.
    await tick(25)
    expect(heard).toEqual(['attempt_failed a', 'retry_scheduled a', 'attempt_failed a', 'gave_up a'])
    void calls
    heard.length = 0
    const other = guard({ clock, breaker, timeout: { attempt: 10 }, retry: false })
    other.on(({ type }) => heard.push(`${type} ${caller.getStore()}`))
    const last = caller.run('c', () => other.run(never).catch(() => {}))
    await tick(10)
    await last
    expect(heard.toSorted()).toEqual([
      'attempt_failed c',
      'breaker_changed c',
      'breaker_changed c',
      'gave_up c',
      'open c',
    ])
  })

  it('is the context in which listeners get the events of a call that another listener started', async () => {
    const heard: string[] = []
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    breaker.on(({ toState }) => {
      heard.push(`${toState} ${caller.getStore()}`)
      if (toState === 'open') caller.run('b', () => breaker.reset())
    })
    caller.run('a', () => breaker.trip())
    expect(heard).toEqual(['open a', 'closed b'])
  })

  it('is kept when other code aborts a signal that calls share', async () => {
    const heard: string[] = []
    const stop = new AbortController()
    const api = guard({ retry: false })
    api.on(({ type }) => heard.push(`${type} ${caller.getStore()}`))
    const fn = ({ signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => heard.push(`cleanup ${caller.getStore()}`))
      return never()
    }
    const calls = ['a', 'b'].map((name) =>
      caller.run(name, () => api.run(fn, { signal: stop.signal }).catch(() => {})),
    )
    caller.run('aborter', () => stop.abort())
    await Promise.all(calls)
    expect(heard).toEqual(['gave_up a', 'cleanup a', 'gave_up b', 'cleanup b'])
  })

  it('is kept by decorated methods', async () => {
    const { seen, see } = sightings()
    class Mail {
      attempts = 0
      @Retry({ maxRetries: 2, delay: 1, jitter: 0 })
      async send() {
        see()
        if (++this.attempts < 3) throw down
      }
    }
    await Promise.all(['a', 'b'].map((name) => caller.run(name, () => new Mail().send())))
    expect(seen.map(String).toSorted()).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
  })

  it('is kept by a fetch, its inner fetch and the bodies of its attempts', async () => {
    const { seen, see } = sightings()
    const { clock, tick } = tickingClock(caller)
    const attempts = new Map<string | undefined, number>()
    const inner = async (request: RequestInfo | URL, init?: RequestInit) => {
      see()
      const name = caller.getStore()
      const number = (attempts.get(name) ?? 0) + 1
      attempts.set(name, number)
      await new Response((init?.body ?? (request as Request).body) as BodyInit).text()
      see()
      if (number === 1) return never()
      return new Response('ok')
    }
    const send = createFetch({
      clock,
      fetch: inner as typeof fetch,
      timeout: { attempt: 50 },
      retry: { maxAttempts: 2, backoffType: 'immediate' },
    })
    const calls = ['a', 'b'].map((name) =>
      caller.run(name, () => send('http://example.test/', { method: 'PUT', body: name })),
    )
    await tick(50)
    await Promise.all(calls)
    expect(seen.filter((name) => name === 'a')).toHaveLength(4)
    expect(seen.filter((name) => name === 'b')).toHaveLength(4)
  })
})

describe('work that outlives a call', () => {
  it('has no async context: the timer that deadlines share is set outside that of the first caller', async () => {
    const { clock, setIn, tick } = tickingClock(caller)
    const api = guard({ clock, timeout: { attempt: 100, total: 1000 }, retry: false })
    const call = caller.run('a', () => api.run(never).catch(() => {}))
    await tick(100)
    await call
    expect(setIn.length).toBeGreaterThan(1)
    expect(new Set(setIn)).toEqual(new Set([undefined]))
  })

  it('has no async context: timers of the platform that calls share do not keep the first caller', async () => {
    const { createHook, executionAsyncResource } = await import('node:async_hooks')
    const kept: unknown[] = []
    const hook = createHook({
      init(_id, type, _trigger, resource) {
        if (type === 'Timeout') kept.push(resource)
      },
    }).enable()
    try {
      const api = guard({ timeout: { attempt: 1000 }, retry: false })
      await caller.run('a', () => api.run(async () => {}))
      expect(executionAsyncResource()).toBeDefined()
    } finally {
      hook.disable()
    }
    const stores = kept.flatMap((resource) =>
      Object.getOwnPropertySymbols(resource).map((symbol) => (resource as Record<symbol, unknown>)[symbol]),
    )
    expect(stores).not.toContain('a')
  })
})
