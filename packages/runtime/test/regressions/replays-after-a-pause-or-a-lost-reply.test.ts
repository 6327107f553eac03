import type { Store } from '@holdfast/store'
import { HoldfastError } from 'holdfast'
import { scripted } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { freshStore, STORES, setup } from '../dead-letters/setup.js'

// A process that was stopped between acquiring a lease and calling the handler called it although the lease had expired and another
// worker could have the entry. A result whose COMMIT got no reply was stored, and the retry took it for the result of another process. It also did so if another worker had replayed the entry again before the retry.

const MINUTE = 60_000

describe.each(STORES)(
  'a replay with a queue in %s of a process that was stopped before its handler started',
  (kind) => {
    /** A queue whose process is stopped for longer than a lease right after it took one. */
    async function stopped(meanwhile: (id: string) => Promise<unknown>) {
      const store = await freshStore(kind)
      const parts = await setup({ store })
      const { dlqId } = await parts.enqueue('a')
      const handler = scripted(['done'])
      parts.queue.handle('write', handler)
      const lease = store.deadLetters.lease.bind(store.deadLetters)
      const leaseNext = store.deadLetters.leaseNext.bind(store.deadLetters)
      let isFirst = true
      const pause = async () => {
        if (!isFirst) return
        isFirst = false
        parts.clock.stepWall(6 * MINUTE)
        await meanwhile(dlqId)
      }
      const now = () => new Date(parts.clock.wall())
      const takeAs = (owner: string) => lease(dlqId, owner, new Date(parts.clock.wall() + 5 * MINUTE), now())
      store.deadLetters.lease = async (...args) => {
        const leased = await lease(...args)
        await pause()
        return leased
      }
      store.deadLetters.leaseNext = async (...args) => {
        const leased = await leaseNext(...args)
        await pause()
        return leased
      }
      return { ...parts, handler, dlqId, takeAs }
    }

    it('does not call the handler if another worker has the entry', async () => {
      let take: ((owner: string) => Promise<unknown>) | undefined
      const { queue, handler, takeAs } = await stopped(() => take?.('another worker') ?? Promise.resolve())
      take = takeAs
      expect(await queue.replayBatch({ concurrency: 1 })).toMatchObject({ succeeded: 0, failed: 0 })
      expect(handler.calls).toBe(0)
    })

    it('acquires the lease again if the entry is still free', async () => {
      const { queue, handler, dlqId } = await stopped(() => Promise.resolve())
      expect((await queue.replay(dlqId)).status).toBe('completed')
      expect(handler.calls).toBe(1)
    })
  },
)

describe.each(STORES)('a replay with a queue in %s whose result was stored without a reply', (kind) => {
  async function unanswered(
    result: unknown,
    meanwhile: (store: Store, id: string, at: Date) => Promise<unknown> = async () => {},
  ) {
    const store = await freshStore(kind)
    const parts = await setup({ store })
    const { dlqId } = await parts.enqueue('a')
    parts.queue.handle('write', scripted([result]))
    const settle = store.deadLetters.settle.bind(store.deadLetters)
    let isFirst = true
    let isLost = () => {}
    const lost = new Promise<void>((resolve) => {
      isLost = resolve
    })
    store.deadLetters.settle = async (...args) => {
      const settled = await settle(...args)
      if (!isFirst) return settled
      isFirst = false
      await meanwhile(store, dlqId, new Date(parts.clock.wall()))
      isLost()
      throw new HoldfastError('STORE_UNAVAILABLE', 'the connection was lost')
    }
    const replayed = parts.queue.replayBatch({ concurrency: 1 })
    await lost
    await parts.clock.advance(1000)
    return { ...parts, dlqId, replayed }
  }

  it('counts as completed, and is reported', async () => {
    const { replayed, events } = await unanswered('done')
    expect(await replayed).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
    expect(events.filter(({ eventType }) => eventType === 'dead_letter_replayed')).toHaveLength(1)
  })

  it('counts as failed, once', async () => {
    const { replayed, queue, dlqId } = await unanswered(new Error('down'))
    expect(await replayed).toEqual({ succeeded: 0, failed: 1, skipped: 0 })
    expect((await queue.get(dlqId))?.errorDetails.history).toHaveLength(1)
  })

  it('counts as failed and is reported if another worker has replayed the entry since then', async () => {
    const { replayed, events, queue, dlqId } = await unanswered(new Error('down'), async (store, id, now) => {
      const at = new Date(now.getTime() + 5)
      const lease = await store.deadLetters.lease(id, 'other', new Date(at.getTime() + MINUTE), at)
      expect(lease.result).toBe('leased')
      const error = { errorType: 'Error', errorMessage: 'still down', retryCount: 0 }
      await store.deadLetters.settle(id, 'other', { status: 'failed', at, error })
    })
    expect(await replayed).toEqual({ succeeded: 0, failed: 1, skipped: 0 })
    expect(events.filter(({ eventType }) => eventType === 'dead_letter_failed')).toHaveLength(1)
    expect((await queue.get(dlqId))?.errorDetails.history?.map(({ errorMessage }) => errorMessage)).toEqual([
      'down',
      'still down',
    ])
  })
})
