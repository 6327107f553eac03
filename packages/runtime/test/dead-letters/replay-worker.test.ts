import { HoldfastError } from 'holdfast'
import { scripted } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { eventually, freshStore, refusal, STORES, setup } from './setup.js'

describe.each(STORES)('replay requests of another process in %s', (kind) => {
  it('are served by a worker until its signal is aborted', async () => {
    const store = await freshStore(kind)
    const server = await setup({ store })
    const { queue, clock } = await setup({ store, clock: server.clock })
    queue.handle('write', scripted(['up', new Error('down'), 'up again']))
    const stop = new AbortController()
    const work = queue.work({ concurrency: 1, signal: stop.signal })
    const [a, b, c] = [await server.enqueue('a'), await server.enqueue('b'), await server.enqueue('c')]
    const ends = (id: string, wanted: object) =>
      eventually(async () => {
        await clock.advance(1000)
        expect(await server.queue.get(id)).toMatchObject(wanted)
      })
    await clock.advance(5000)
    expect((await queue.stats()).byStatus.pending).toBe(3)
    for (const { dlqId } of [a, b]) await server.queue.replay(dlqId)
    await ends(a.dlqId, { status: 'completed' })
    await ends(b.dlqId, { status: 'failed', replayRequestedAt: null })
    for (let looks = 0; looks < 20; looks++) await clock.advance(1000)
    expect((await server.queue.get(b.dlqId))?.errorDetails.history).toHaveLength(1)
    await server.queue.replay(b.dlqId)
    await ends(b.dlqId, { status: 'completed' })
    stop.abort()
    await work
    await server.queue.replay(c.dlqId)
    await clock.advance(5000)
    expect((await server.queue.get(c.dlqId))?.status).toBe('pending')
  })
})

describe('a replay worker', () => {
  it('starts at once when the store notifies of a request, and polls less often then', async () => {
    const { queue, enqueue, store, clock } = await setup()
    const { leaseNext } = store.deadLetters
    let looks = 0
    let ring = () => {}
    let left = false
    Object.assign(store.deadLetters, {
      leaseNext: (...args: Parameters<typeof leaseNext>) => {
        looks++
        return leaseNext.apply(store.deadLetters, args)
      },
      onRequest: (listener: () => void) => {
        ring = listener
        return () => {
          left = true
        }
      },
    })
    const { dlqId } = await enqueue('a')
    queue.handle('write', () => {})
    const work = queue.work()
    await clock.advance(3000)
    // The worker polls at its normal interval, because it has received no notification yet.
    expect(looks).toBe(4)
    ring()
    await clock.advance(0)
    expect(looks).toBe(5)
    await clock.advance(9000)
    expect(looks).toBe(5)
    await store.deadLetters.request(dlqId, new Date(clock.wall()))
    ring()
    await clock.advance(0)
    expect((await queue.get(dlqId))?.status).toBe('completed')
    await store.deadLetters.request((await enqueue('b')).dlqId, new Date(clock.wall()))
    await clock.advance(10_000)
    expect((await queue.stats()).byStatus.completed).toBe(2)
    await queue.close()
    await work
    expect(left).toBe(true)
  })

  it('waits while a breaker is open and keeps the request', async () => {
    const { queue, enqueue, store, clock } = await setup({
      guards: { write: { retry: false, breaker: { failureThreshold: 1, timeoutDuration: 30_000 } } },
    })
    const entries = [await enqueue('a'), await enqueue('b')]
    for (const { dlqId } of entries) await store.deadLetters.request(dlqId, new Date(clock.wall()))
    const handler = scripted([new Error('down'), 'up'])
    queue.handle('write', handler)
    let leases = 0
    const leaseNext = store.deadLetters.leaseNext.bind(store.deadLetters)
    store.deadLetters.leaseNext = (...args) => {
      leases++
      return leaseNext(...args)
    }
    const work = queue.work({ concurrency: 1 })
    await clock.advance(29_000)
    expect(handler.calls).toBe(1)
    expect(leases).toBeLessThan(5)
    expect(await queue.get(entries[1]?.dlqId as string)).toMatchObject({
      status: 'pending',
      replayRequestedAt: expect.any(Date),
    })
    await clock.advance(5000)
    expect((await queue.get(entries[1]?.dlqId as string))?.status).toBe('completed')
    await queue.close()
    await work
  })

  it('continues when the store is available again, and warns once', async () => {
    const { kit, queue, enqueue, store, clock, lines } = await setup()
    const { dlqId } = await enqueue('a')
    await queue.replay(dlqId)
    queue.handle('write', () => {})
    const { leaseNext } = kit.store.deadLetters
    kit.store.deadLetters.leaseNext = () => Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'locked'))
    const work = queue.work({ interval: 100 })
    await clock.advance(1000)
    expect(lines).toEqual(['replay requests cannot be read, the worker retries: locked'])
    store.deadLetters.leaseNext = leaseNext
    await clock.advance(100)
    expect((await queue.get(dlqId))?.status).toBe('completed')
    await queue.close()
    await work
  })

  it('finishes its current replay before it ends', async () => {
    const { queue, enqueue, clock } = await setup()
    const { dlqId } = await enqueue('a')
    await queue.replay(dlqId)
    queue.handle('write', () => new Promise<void>((resolve) => clock.setTimer(resolve, 5000)))
    const stop = new AbortController()
    let ended = false
    const work = queue.work({ signal: stop.signal }).then(() => {
      ended = true
    })
    await clock.advance(1000)
    stop.abort()
    await clock.advance(1000)
    expect(ended).toBe(false)
    await clock.advance(5000)
    await work
    expect((await queue.get(dlqId))?.status).toBe('completed')
  })

  it('leases as many entries as it has free slots, and more when slots become free', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let i = 0; i < 7; i++) await queue.replay((await enqueue(`${i}`)).dlqId)
    let [running, most] = [0, 0]
    queue.handle('write', async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
      running--
    })
    const work = queue.work({ concurrency: 3, interval: 1_000_000 })
    await clock.advance(100)
    expect(most).toBe(3)
    expect((await queue.stats()).byStatus.completed).toBe(7)
    await queue.close()
    await work
  })

  it('starts without handlers, and rejects options that are not numbers', async () => {
    const { queue, clock } = await setup()
    const work = queue.work({ interval: 10 })
    await clock.advance(100)
    await queue.close()
    await work
    const other = await setup()
    const { code, message } = await refusal(other.queue.work({ concurrency: 0, interval: -1 }))
    expect(code).toBe('INVALID_OPTIONS')
    expect(message).toContain('concurrency: expected a whole number from 1, got 0')
    expect(message).toContain('interval: expected a number above 0, got -1')
  })
})
