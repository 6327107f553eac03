import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { type Attempt, guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { eventsOf, fate, never } from './watch.js'

const listenersOn = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
const setUp = () => ({ clock: fakeClock(), controller: new AbortController(), reason: new Error('enough') })

describe('a signal that is already aborted', () => {
  it('keeps the function from being called', async () => {
    const fn = vi.fn()
    const call = fate(guard({ clock: fakeClock() }).run(fn, { signal: AbortSignal.abort('enough') }))
    await fakeClock().advance(0)
    expect(call).toEqual({ state: 'rejected', error: 'enough' })
    expect(fn).not.toHaveBeenCalled()
  })

  it('keeps the fallback from being called', async () => {
    const fallback = vi.fn()
    const call = fate(guard({ fallback }).run(never, { signal: AbortSignal.abort('enough') }))
    await fakeClock().advance(0)
    expect(call.error).toBe('enough')
    expect(fallback).not.toHaveBeenCalled()
  })

  it('rejects with the default reason where none was given', async () => {
    const signal = AbortSignal.abort()
    const call = fate(guard().run(never, { signal }))
    await fakeClock().advance(0)
    expect(call.error).toBe(signal.reason)
    expect(call.error).toMatchObject({ name: 'AbortError' })
  })

  it('leaves a session without attempts', async () => {
    const reason = new Error('enough')
    fate(guard({ name: 'mail' }).run(never, { signal: AbortSignal.abort(reason) }))
    await fakeClock().advance(0)
    expect(sessionOf(reason)).toEqual({ operation: 'mail', attempts: [], success: false, stopped: 'aborted' })
  })

  it('does not get a listener', async () => {
    const signal = AbortSignal.abort()
    fate(guard().run(never, { signal }))
    expect(listenersOn(signal)).toBe(0)
  })
})

describe('an abort during an attempt', () => {
  it('rejects at once with the reason', async () => {
    const { clock, controller, reason } = setUp()
    const call = fate(guard({ clock }).run(never, { signal: controller.signal }))
    await clock.advance(70)
    controller.abort(reason)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(sessionOf(reason)).toMatchObject({
      stopped: 'aborted',
      attempts: [{ number: 1, duration: 70, outcome: 'failure', error: reason }],
    })
  })

  it('aborts the attempt with the same reason', async () => {
    const { clock, controller, reason } = setUp()
    const attempts: Attempt[] = []
    fate(
      guard({ clock }).run(
        (attempt) => {
          attempts.push(attempt)
          return never()
        },
        { signal: controller.signal },
      ),
    )
    controller.abort(reason)
    expect(attempts[0]?.signal.aborted).toBe(true)
    expect(attempts[0]?.signal.reason).toBe(reason)
  })

  it.each([
    ['value', 'late'],
    ['error', new Error('late')],
  ])('causes a late %s to be ignored', async (_, outcome) => {
    const { clock, controller, reason } = setUp()
    const call = fate(
      guard({ clock }).run<unknown>(
        () =>
          new Promise((resolve, reject) =>
            clock.setTimer(() => (outcome instanceof Error ? reject(outcome) : resolve(outcome)), 10),
          ),
        { signal: controller.signal },
      ),
    )
    controller.abort(reason)
    await clock.advance(100)
    expect(call).toEqual({ state: 'rejected', error: reason })
  })

  it('calls no further attempt, predicate, backoff, classifier or fallback', async () => {
    const { clock, controller } = setUp()
    const called = vi.fn()
    const spy = (name: string) => (): never => {
      called(name)
      throw new Error(name)
    }
    const api = guard({
      clock,
      fallback: spy('fallback'),
      classify: spy('classify'),
      retry: { retryIf: spy('retryIf'), backoffType: spy('backoff'), retryOn: [spy('retryOn')] },
    })
    const fn = vi.fn(({ signal }: Attempt) => {
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    fate(api.run(fn, { signal: controller.signal }))
    controller.abort()
    await clock.advance(100_000)
    expect(fn).toHaveBeenCalledTimes(1)
    expect(called.mock.calls).toEqual([])
  })

  it('is not counted by the breaker', async () => {
    const { clock, controller } = setUp()
    const api = guard({ clock, breaker: { failureThreshold: 1 } })
    fate(api.run(never, { signal: controller.signal }))
    controller.abort(new Error('ECONNRESET'))
    expect(api.breaker).toMatchObject({ state: 'closed', failureCount: 0 })
  })

  it('by the function itself, before it returns, ends the call', async () => {
    const { clock, controller, reason } = setUp()
    const fn = vi.fn(() => {
      controller.abort(reason)
      return 'a value'
    })
    const call = fate(guard({ clock }).run(fn, { signal: controller.signal }))
    await clock.advance(10_000)
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['undefined becomes an AbortError', undefined, expect.objectContaining({ name: 'AbortError' })],
    ['null', null, null],
    ['a string', 'enough', 'enough'],
    ['0', 0, 0],
  ])('can have any reason: %s', async (_, reason, error) => {
    const { clock, controller } = setUp()
    const call = fate(guard({ clock }).run(never, { signal: controller.signal }))
    controller.abort(reason)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error })
  })
})

describe('an abort during a delay', () => {
  it('rejects at once and does not call the function again', async () => {
    const { clock, controller, reason } = setUp()
    const fn = vi.fn(() => Promise.reject(new Error('down')))
    const call = fate(guard({ clock }).run(fn, { signal: controller.signal }))
    await clock.advance(400)
    controller.abort(reason)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
    await clock.advance(100_000)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('keeps the attempts so far in the session', async () => {
    const { clock, controller, reason } = setUp()
    const down = new Error('down')
    fate(guard({ clock }).run(() => Promise.reject(down), { signal: controller.signal }))
    await clock.advance(400)
    controller.abort(reason)
    expect(sessionOf(reason)).toMatchObject({ stopped: 'aborted', attempts: [{ number: 1, error: down }] })
  })

  it('does not abort the attempt before the delay', async () => {
    const { clock, controller } = setUp()
    const attempts: Attempt[] = []
    const fn = (attempt: Attempt) => {
      attempts.push(attempt)
      throw new Error('down')
    }
    fate(guard({ clock }).run(fn, { signal: controller.signal }))
    await clock.advance(400)
    controller.abort()
    expect(attempts[0]?.signal.aborted).toBe(false)
  })
})

describe('an abort during the fallback', () => {
  it('rejects at once with the reason', async () => {
    const { clock, controller, reason } = setUp()
    const call = fate(
      guard({ clock, retry: false, fallback: never }).run(() => Promise.reject(new Error('down')), {
        signal: controller.signal,
      }),
    )
    await clock.advance(10)
    controller.abort(reason)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(listenersOn(controller.signal)).toBe(0)
  })

  it('causes the later result of the fallback to be ignored', async () => {
    const { clock, controller, reason } = setUp()
    const fallback = () => new Promise((_, reject) => clock.setTimer(() => reject(new Error('late')), 10))
    const call = fate(
      guard({ clock, retry: false, fallback }).run(() => Promise.reject(new Error('down')), {
        signal: controller.signal,
      }),
    )
    await clock.advance(5)
    controller.abort(reason)
    await clock.advance(100)
    expect(call).toEqual({ state: 'rejected', error: reason })
  })
})

describe('an abort after the end', () => {
  it('changes nothing and aborts no attempt', async () => {
    const { clock, controller } = setUp()
    const api = guard({ clock })
    const events = eventsOf(api)
    const attempts: Attempt[] = []
    const call = fate(
      api.run(
        (attempt) => {
          attempts.push(attempt)
          return 'up'
        },
        { signal: controller.signal },
      ),
    )
    await clock.advance(0)
    controller.abort()
    await clock.advance(0)
    expect(call).toEqual({ state: 'fulfilled', value: 'up' })
    expect(events.map(({ type }) => type)).toEqual(['succeeded'])
    expect(attempts[0]?.signal.aborted).toBe(false)
  })
})

describe('a signal that several calls share', () => {
  it('has one listener for many calls, and none after they ended', async () => {
    const { clock, controller } = setUp()
    const api = guard({ clock })
    const calls = Array.from({ length: 10_000 }, () =>
      api.run(async () => 'up', { signal: controller.signal }),
    )
    expect(listenersOn(controller.signal)).toBe(1)
    await Promise.all(calls)
    expect(listenersOn(controller.signal)).toBe(0)
  })

  it.each([
    ['succeeded', () => 'up'],
    ['failed', () => Promise.reject('no error')],
    ['gave up', () => Promise.reject(new Error('down'))],
  ])('has no listener after a call that %s', async (_, fn) => {
    const { clock, controller } = setUp()
    fate(guard({ clock }).run<unknown>(fn, { signal: controller.signal }))
    await clock.advance(60_000)
    expect(listenersOn(controller.signal)).toBe(0)
  })

  it('has no listener after a fallback', async () => {
    const { clock, controller } = setUp()
    const api = guard({ clock, retry: false, fallback: () => 'instead' })
    await api.run(() => Promise.reject(new Error('down')), { signal: controller.signal })
    await clock.advance(0)
    expect(listenersOn(controller.signal)).toBe(0)
  })

  it('ends every call that uses it, in any guard', async () => {
    const { clock, controller, reason } = setUp()
    const guards = [guard({ clock }), guard({ clock, timeout: { total: 1000 } })]
    const calls = guards.flatMap((api) =>
      Array.from({ length: 50 }, () => fate(api.run(never, { signal: controller.signal }))),
    )
    controller.abort(reason)
    await clock.advance(0)
    expect(calls.every(({ error }) => error === reason)).toBe(true)
  })

  it('ends nested calls that share it', async () => {
    const { clock, controller, reason } = setUp()
    const { signal } = controller
    const [outer, inner] = [guard({ clock }), guard({ clock })]
    const call = fate(outer.run(() => inner.run(never, { signal }), { signal }))
    controller.abort(reason)
    await clock.advance(10_000)
    expect(call).toEqual({ state: 'rejected', error: reason })
  })

  it('ends an inner call that uses the signal of the outer attempt', async () => {
    const { clock, controller, reason } = setUp()
    const inner = guard({ clock })
    const calls: ReturnType<typeof fate>[] = []
    fate(
      guard({ clock }).run(
        ({ signal }) => {
          const call = inner.run(never, { signal })
          calls.push(fate(call))
          return call
        },
        { signal: controller.signal },
      ),
    )
    controller.abort(reason)
    await clock.advance(10_000)
    expect(calls).toEqual([{ state: 'rejected', error: reason }])
  })
})

describe("one call's timeout", () => {
  it("never aborts another's signal", async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100 } })
    const signals: AbortSignal[] = []
    const start = () =>
      fate(
        api.run(({ signal }) => {
          signals.push(signal)
          return never()
        }),
      )
    start()
    await clock.advance(50)
    start()
    await clock.advance(50)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })

  it("never aborts the caller's signal", async () => {
    const { clock, controller } = setUp()
    fate(guard({ clock, retry: false, timeout: { attempt: 100 } }).run(never, { signal: controller.signal }))
    await clock.advance(100)
    expect(controller.signal.aborted).toBe(false)
  })
})
