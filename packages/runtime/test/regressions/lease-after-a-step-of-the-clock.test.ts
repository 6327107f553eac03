import { describe, expect, it } from 'vitest'
import { eventually, freshStore, STORES, setup } from '../dead-letters/setup.js'

// A lease is compared with the wall clock. After the clock of a process was set forward by more than a lease, its own lease could not be
// renewed: another process could replay the entry beside the running handler, and the result of the handler was not recorded.

const MINUTE = 60_000

describe.each(STORES)('a lease in %s after the clock was set forward by more than its duration', (kind) => {
  /** A worker whose handler runs until `fail` is called. */
  async function running() {
    const parts = await setup({ store: await freshStore(kind) })
    const { queue, enqueue, clock, store } = parts
    const { dlqId } = await enqueue('a')
    let fail: (() => void) | undefined
    queue.handle('write', () => new Promise((_, reject) => (fail = () => reject(new Error('down')))))
    const replay = queue.replay(dlqId)
    await eventually(() => expect(fail).toBeDefined())
    const now = () => new Date(clock.wall())
    const leaseAs = (owner: string) =>
      store.deadLetters.lease(dlqId, owner, new Date(clock.wall() + 5 * MINUTE), now())
    return { ...parts, dlqId, replay, leaseAs, fail: () => fail?.() }
  }

  it('is acquired again for the running handler, whose result is recorded', async () => {
    const { queue, clock, dlqId, replay, leaseAs, fail } = await running()
    clock.stepWall(10 * MINUTE)
    // It is renewed afterwards.
    for (let renewals = 0; renewals < 4; renewals++) {
      await clock.advance(2 * MINUTE)
      const end = clock.wall() + 3 * MINUTE
      await eventually(async () =>
        expect((await queue.get(dlqId))?.leasedUntil?.getTime()).toBeGreaterThan(end),
      )
    }
    expect(await leaseAs('another worker')).toMatchObject({ result: 'held' })
    fail()
    expect(await replay).toMatchObject({ status: 'failed', errorDetails: { history: [{}] } })
  })

  it('stays with another worker that has acquired it', async () => {
    const { queue, clock, dlqId, replay, leaseAs, fail, logs } = await running()
    clock.stepWall(10 * MINUTE)
    expect(await leaseAs('another worker')).toMatchObject({ result: 'leased' })
    await clock.advance(2 * MINUTE)
    await eventually(() => expect(logs.join()).toContain('a lease was lost'))
    fail()
    expect(await replay).toMatchObject({ status: 'replaying' })
    expect((await queue.get(dlqId))?.errorDetails.history).toBeUndefined()
  })

  it('is not kept if the handler ends while it is acquired again', async () => {
    const { queue, clock, dlqId, replay, fail, store } = await running()
    const lease = store.deadLetters.lease.bind(store.deadLetters)
    let acquire: (() => void) | undefined
    store.deadLetters.lease = async (...args) => {
      await new Promise<void>((resolve) => (acquire = resolve))
      return lease(...args)
    }
    clock.stepWall(10 * MINUTE)
    await clock.advance(2 * MINUTE)
    await eventually(() => expect(acquire).toBeDefined())
    fail()
    await new Promise((resolve) => setImmediate(resolve))
    acquire?.()
    expect(await replay).toMatchObject({ status: 'failed' })
    expect(await queue.get(dlqId)).toMatchObject({ status: 'failed', leasedUntil: null })
  })
})
