import { describe, expect, it } from 'vitest'
import { eventually, freshStore, refusal, STORES, setup } from '../dead-letters/setup.js'

// Leases are compared with the wall clock. A process whose clock was set forward by more than a lease replayed an entry again while
// its own handler still ran.

const MINUTE = 60_000

describe.each(STORES)('an entry in %s whose handler runs while the clock is set', (kind) => {
  /** A worker whose handler runs until `finish` is called. */
  async function running() {
    const parts = await setup({ store: await freshStore(kind) })
    const { queue, enqueue, clock } = parts
    const { dlqId } = await enqueue('a')
    let calls = 0
    let finish: (error?: Error) => void = () => {}
    queue.handle('write', () => {
      calls++
      return new Promise<void>((resolve, reject) => {
        finish = (error) => (error === undefined ? resolve() : reject(error))
      })
    })
    const first = queue.replay(dlqId)
    await eventually(() => expect(calls).toBe(1))
    return { ...parts, dlqId, first, finish: (error?: Error) => finish(error), calls: () => calls, clock }
  }

  it('is not replayed again by the same process after the lease has ended', async () => {
    const { queue, clock, dlqId, first, finish, calls, store } = await running()
    clock.stepWall(10 * MINUTE)
    expect(await queue.get(dlqId)).toMatchObject({ status: 'pending' })
    expect(await refusal(queue.replay(dlqId))).toMatchObject({ code: 'DEAD_LETTER_LEASED' })
    expect(await queue.replayBatch()).toEqual({ succeeded: 0, failed: 0, skipped: 1 })
    await store.deadLetters.request(dlqId, new Date(clock.wall()))
    const stop = new AbortController()
    const work = queue.work({ signal: stop.signal })
    for (let polls = 0; polls < 5; polls++) await clock.advance(1000)
    stop.abort()
    await work
    expect(calls()).toBe(1)
    finish()
    expect((await first).status).toBe('completed')
  })

  it('is not replayed again after a renewal under a clock that was behind', async () => {
    const { queue, clock, first, finish, calls } = await running()
    clock.stepWall(-10 * MINUTE)
    await clock.advance(2 * MINUTE)
    clock.stepWall(10 * MINUTE)
    expect(await queue.replayBatch()).toMatchObject({ succeeded: 0, failed: 0 })
    expect(calls()).toBe(1)
    finish()
    expect((await first).status).toBe('completed')
  })

  it('is replayed again after the handler has ended', async () => {
    const { queue, clock, dlqId, first, finish, calls } = await running()
    clock.stepWall(10 * MINUTE)
    finish(new Error('down'))
    await first
    const second = queue.replay(dlqId)
    await eventually(() => expect(calls()).toBe(2))
    finish()
    expect((await second).status).toBe('completed')
  })
})
