import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guard, isHoldfastError, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

/** A function whose calls are settled by hand, in any order. */
function byHand() {
  const calls: { resolve(value: number): void; reject(error: unknown): void }[] = []
  const fn = () =>
    new Promise<number>((resolve, reject) => {
      calls.push({ resolve, reject })
    })
  return { fn, calls }
}

const settle = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

describe('a bulkhead', () => {
  it('runs as many calls as its limit, and rejects the next at once', async () => {
    const { fn, calls } = byHand()
    const only = guard({ name: 'narrow', retry: false, bulkhead: { limit: 2 } })
    const running = [only.run(fn), only.run(fn)]
    const error = await only.run(fn).catch((e: unknown) => e)
    expect(isHoldfastError(error, 'BULKHEAD_FULL')).toBe(true)
    expect(sessionOf(error)?.stopped).toBe('bulkhead_full')
    expect(calls).toHaveLength(2)
    for (const call of calls) call.resolve(1)
    expect(await Promise.all(running)).toEqual([1, 1])
    const last = only.run(fn)
    expect(calls).toHaveLength(3)
    calls[2]?.resolve(3)
    expect(await last).toBe(3)
  })

  it('queues as many calls as its queue allows, and runs them in order', async () => {
    const { fn, calls } = byHand()
    const only = guard({ retry: false, bulkhead: { limit: 1, queue: 2 } })
    const order: string[] = []
    const run = (name: string) =>
      only.run(() => {
        order.push(name)
        return fn()
      })
    const all = ['a', 'b', 'c'].map(run)
    await expect(run('d')).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    for (let i = 0; i < 3; i++) {
      expect(order).toHaveLength(i + 1)
      calls[i]?.resolve(i)
      await all[i]
    }
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('keeps the slot of a call that timed out until its function settles', async () => {
    const clock = fakeClock()
    const { fn, calls } = byHand()
    const only = guard({ clock, retry: false, timeout: { attempt: 100 }, bulkhead: { limit: 1 } })
    const late = settle(only.run(fn))
    await clock.advance(100)
    expect(await late).toMatchObject({ error: { code: 'ATTEMPT_TIMEOUT' } })
    await expect(only.run(fn)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    calls[0]?.reject(new Error('at last'))
    await clock.advance(0)
    const next = only.run(fn)
    calls[1]?.resolve(2)
    expect(await next).toBe(2)
  })

  it('keeps the slot of a call that was aborted until its function settles', async () => {
    const { fn, calls } = byHand()
    const only = guard({ retry: false, bulkhead: { limit: 1 } })
    const controller = new AbortController()
    const aborted = settle(only.run(fn, { signal: controller.signal }))
    controller.abort('enough')
    expect(await aborted).toEqual({ error: 'enough' })
    await expect(only.run(fn)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    calls[0]?.resolve(0)
    await Promise.resolve()
    await Promise.resolve()
    const next = only.run(fn)
    calls[1]?.resolve(2)
    expect(await next).toBe(2)
  })

  it('removes a call from the queue that is aborted while it waits', async () => {
    const { fn, calls } = byHand()
    const only = guard({ retry: false, bulkhead: { limit: 1, queue: 1 } })
    const first = only.run(fn)
    const controller = new AbortController()
    const waiting = settle(only.run(fn, { signal: controller.signal }))
    controller.abort('gone')
    expect(await waiting).toEqual({ error: 'gone' })
    const second = only.run(fn)
    calls[0]?.resolve(1)
    expect(await first).toBe(1)
    expect(calls).toHaveLength(2)
    calls[1]?.resolve(2)
    expect(await second).toBe(2)
  })

  it('does not count the time in the queue against the total deadline', async () => {
    const clock = fakeClock()
    const { fn, calls } = byHand()
    const only = guard({ clock, retry: false, timeout: { total: 100 }, bulkhead: { limit: 1, queue: 1 } })
    const first = only.run(fn)
    const second = only.run(fn)
    await clock.advance(90)
    calls[0]?.resolve(1)
    expect(await first).toBe(1)
    await clock.advance(90)
    calls[1]?.resolve(2)
    expect(await second).toBe(2)
  })

  it('holds one slot over all attempts of a call', async () => {
    const clock = fakeClock()
    const only = guard({ clock, retry: { maxAttempts: 2 }, bulkhead: { limit: 1 } })
    const first = settle(only.run(() => Promise.reject(new Error('down'))))
    await clock.advance(500)
    await expect(only.run(() => 1)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
    await clock.advance(500)
    expect(await first).toMatchObject({ error: { message: 'down' } })
    expect(await only.run(() => 1)).toBe(1)
  })

  it('rejects into the fallback when it is full', async () => {
    const { fn } = byHand()
    const only = guard({ retry: false, bulkhead: { limit: 1 }, fallback: () => 'later' })
    void only.run(fn)
    expect(await only.run(fn)).toBe('later')
  })

  it.each([
    [{ limit: 0 }, 'bulkhead.limit: expected a whole number from 1, got 0'],
    [{ limit: 1, queue: -1 }, 'bulkhead.queue: expected a whole number from 0, got -1'],
    [{}, 'bulkhead.limit: expected a whole number from 1, got undefined'],
  ])('rejects %j', (bulkhead, problem) => {
    expect(() => guard({ bulkhead: bulkhead as { limit: number } })).toThrow(problem)
  })

  it('never runs more calls than its limit, never rejects while a slot is free, and runs every queued call', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ limit: fc.integer({ min: 1, max: 4 }), queue: fc.integer({ min: 0, max: 4 }) }),
        fc.array(fc.oneof(fc.constant('call'), fc.nat(9), fc.record({ abort: fc.nat(9) })), {
          maxLength: 40,
        }),
        async ({ limit, queue }, steps) => {
          const { fn, calls } = byHand()
          const only = guard({ retry: false, bulkhead: { limit, queue } })
          const callers: {
            controller: AbortController
            result: Promise<unknown>
            over: boolean
            index?: number
          }[] = []
          let open = 0
          for (const step of steps) {
            const running = callers.filter(
              ({ index }) => index !== undefined && !settledFns.has(index),
            ).length
            if (step === 'call') {
              const controller = new AbortController()
              const caller: (typeof callers)[number] = { controller, over: false, result: Promise.resolve() }
              const waiting = callers.filter(({ index, over }) => index === undefined && !over).length
              const room = running < limit || waiting < queue
              caller.result = settle(
                only.run(
                  () => {
                    caller.index = calls.length
                    return fn()
                  },
                  { signal: controller.signal },
                ),
              ).then((outcome) => {
                caller.over = true
                return outcome
              })
              callers.push(caller)
              await flush()
              if (!room) expect(await caller.result).toMatchObject({ error: { code: 'BULKHEAD_FULL' } })
              else if (running < limit) expect(caller.index).toBeDefined()
              open++
            } else if (typeof step === 'number') {
              const index = callers
                .map((c) => c.index)
                .filter((i): i is number => i !== undefined && !settledFns.has(i))[step % Math.max(1, open)]
              if (index !== undefined) {
                settledFns.add(index)
                calls[index]?.resolve(index)
                await flush()
              }
            } else {
              callers[step.abort]?.controller.abort('gone')
              await flush()
            }
            const now = callers.filter(({ index }) => index !== undefined && !settledFns.has(index)).length
            const waiting = callers.filter(({ index, over }) => index === undefined && !over).length
            expect(now).toBeLessThanOrEqual(limit)
            if (waiting > 0) expect(now).toBe(limit)
          }
          settledFns.clear()
        },
      ),
      { numRuns: 500 },
    )
  })
})

const settledFns = new Set<number>()

async function flush(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve()
}

describe('maxWait of a bulkhead', () => {
  const full = { error: { code: 'BULKHEAD_FULL' } }

  it('rejects a queued call after that time, and frees its place in the queue', async () => {
    const clock = fakeClock()
    const { fn, calls } = byHand()
    const only = guard({ clock, retry: false, bulkhead: { limit: 1, queue: 1, maxWait: '100ms' } })
    const running = only.run(fn)
    const waiting = settle(only.run(fn))
    await clock.advance(99)
    expect(await settle(only.run(fn)), 'the queue is full').toMatchObject(full)
    await clock.advance(1)
    expect(await waiting).toMatchObject(full)
    const next = only.run(fn)
    calls[0]?.resolve(1)
    expect(await running).toBe(1)
    await clock.advance(0)
    calls[1]?.resolve(2)
    expect(await next).toBe(2)
    expect(calls).toHaveLength(2)
  })

  it('does not limit a call that got its slot in time', async () => {
    const clock = fakeClock()
    const { fn, calls } = byHand()
    const only = guard({ clock, retry: false, bulkhead: { limit: 1, queue: 1, maxWait: 100 } })
    const running = only.run(fn)
    const waiting = only.run(fn)
    await clock.advance(50)
    calls[0]?.resolve(1)
    await running
    await clock.advance(10_000)
    calls[1]?.resolve(2)
    expect(await waiting).toBe(2)
  })

  it('never queues where it is 0', async () => {
    const { fn, calls } = byHand()
    const only = guard({ retry: false, bulkhead: { limit: 1, queue: 5, maxWait: 0 } })
    const running = only.run(fn)
    expect(await settle(only.run(fn))).toMatchObject(full)
    calls[0]?.resolve(1)
    expect(await running).toBe(1)
  })

  it('leaves no timer and no waiter behind where the caller aborts first', async () => {
    const clock = fakeClock()
    const { fn, calls } = byHand()
    const only = guard({ clock, retry: false, bulkhead: { limit: 1, queue: 1, maxWait: 100 } })
    const running = only.run(fn)
    const controller = new AbortController()
    const waiting = settle(only.run(fn, { signal: controller.signal }))
    controller.abort(new Error('left'))
    expect(await waiting).toMatchObject({ error: { message: 'left' } })
    await clock.advance(100)
    calls[0]?.resolve(1)
    expect(await running).toBe(1)
    expect(calls).toHaveLength(1)
  })
})
