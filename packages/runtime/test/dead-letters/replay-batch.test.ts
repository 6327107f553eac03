import { isHoldfastError } from 'holdfast'
import { scripted } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import type { BatchProgress } from '../../src/dead-letters/replay-batch.js'
import { freshStore, refusal, STORES, setup } from './setup.js'

describe.each(STORES)('a replay batch with a queue in %s', (kind) => {
  it('replays pending entries, oldest first', async () => {
    const { queue, enqueue, clock, audits } = await setup({ store: await freshStore(kind) })
    for (const item of ['a', 'b', 'c', 'd']) {
      await enqueue(item)
      await clock.advance(5)
    }
    await enqueue('other', { operation: 'fetch' })
    const seen: string[] = []
    queue.handle('write', ({ itemId }: { itemId: string }) => {
      seen.push(itemId)
      if (itemId === 'b') throw new Error('bad')
    })
    queue.handle('fetch', () => {})
    const progress: string[] = []
    const result = await queue.replayBatch(
      {
        operation: 'write',
        concurrency: 1,
        onProgress: ({ succeeded, failed, total, entry }) =>
          progress.push(`${succeeded}+${failed}/${total} ${entry.itemId} ${entry.status}`),
      },
      { by: 'ann' },
    )
    expect(result).toEqual({ succeeded: 3, failed: 1, skipped: 0 })
    expect(seen).toEqual(['a', 'b', 'c', 'd'])
    expect(progress).toEqual([
      '1+0/4 a completed',
      '1+1/4 b failed',
      '2+1/4 c completed',
      '3+1/4 d completed',
    ])
    expect(audits).toEqual([
      { actor: { by: 'ann' }, action: 'dead_letter.replay', target: 'write', change: { after: result } },
    ])
    expect(await queue.replayBatch()).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
  })

  it('replays each failed entry once with retryFailed', async () => {
    const { queue, enqueue } = await setup({ store: await freshStore(kind) })
    for (const item of ['a', 'b', 'c']) await enqueue(item)
    const handler = scripted([new Error('1'), new Error('2'), new Error('3'), 'a', new Error('b'), 'c'])
    queue.handle('write', handler)
    expect(await queue.replayBatch({ concurrency: 1 })).toEqual({ succeeded: 0, failed: 3, skipped: 0 })
    expect(await queue.replayBatch({ concurrency: 1 })).toEqual({ succeeded: 0, failed: 0, skipped: 0 })
    const again = await queue.replayBatch({ concurrency: 2, retryFailed: true })
    expect(again).toEqual({ succeeded: 2, failed: 1, skipped: 0 })
    expect(handler.calls).toBe(6)
  })

  it('stops when the breaker opens: rejected entries are pending again, the rest is skipped', async () => {
    const { queue, enqueue } = await setup({
      store: await freshStore(kind),
      guards: { write: { retry: false, breaker: { failureThreshold: 2 } } },
    })
    for (let i = 0; i < 10; i++) await enqueue(`item-${i}`)
    const handler = scripted(['up', new Error('down')])
    queue.handle('write', handler)
    const seen: string[] = []
    const onProgress = ({ entry }: BatchProgress) => void seen.push(entry.status)
    expect(await queue.replayBatch({ concurrency: 1, onProgress })).toEqual({
      succeeded: 1,
      failed: 2,
      skipped: 7,
    })
    expect(seen).toEqual(['completed', 'failed', 'failed', 'pending'])
    expect(handler.calls).toBe(3)
    expect((await queue.stats()).byStatus).toEqual({ pending: 7, replaying: 0, completed: 1, failed: 2 })
    const { items } = await queue.list({ status: 'pending' })
    expect(items.every(({ errorDetails }) => errorDetails.history === undefined)).toBe(true)
  })
})

describe('a replay batch', () => {
  it('continues with other operations when the breaker of one is open', async () => {
    const { queue, enqueue } = await setup({
      guards: { write: { retry: false, breaker: { failureThreshold: 1 } } },
    })
    for (let i = 0; i < 4; i++) {
      await enqueue(`w${i}`)
      await enqueue(`f${i}`, { operation: 'fetch' })
    }
    queue.handle('write', scripted([new Error('down')]))
    queue.handle('fetch', () => {})
    expect(await queue.replayBatch({ concurrency: 1 })).toEqual({ succeeded: 4, failed: 1, skipped: 3 })
  })

  it('replays at most concurrency entries at a time', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let i = 0; i < 20; i++) await enqueue(`${i}`)
    let [running, most] = [0, 0]
    queue.handle('write', async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
      running--
    })
    const batch = queue.replayBatch({ concurrency: 3 })
    await clock.advance(1000)
    expect(await batch).toEqual({ succeeded: 20, failed: 0, skipped: 0 })
    expect(most).toBe(3)
  })

  it('starts at most rate entries per second', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let i = 0; i < 6; i++) await enqueue(`${i}`)
    const starts: number[] = []
    queue.handle('write', () => void starts.push(clock.now()))
    const batch = queue.replayBatch({ concurrency: 50, rate: 2 })
    await clock.advance(5000)
    await batch
    expect(starts).toEqual([0, 500, 1000, 1500, 2000, 2500])
  })

  it('replays at most limit entries, and none that were added after its start', async () => {
    const { queue, enqueue } = await setup()
    for (let i = 0; i < 5; i++) await enqueue(`${i}`)
    queue.handle('write', () => enqueue('another'))
    expect(await queue.replayBatch({ limit: 2 })).toEqual({ succeeded: 2, failed: 0, skipped: 0 })
    expect(await queue.replayBatch({ concurrency: 1 })).toEqual({ succeeded: 5, failed: 0, skipped: 0 })
    expect((await queue.stats()).byStatus.pending).toBe(5)
  })

  it('starts no more entries after an abort, and finishes the running ones', async () => {
    const { queue, enqueue } = await setup()
    for (let i = 0; i < 5; i++) await enqueue(`${i}`)
    const stop = new AbortController()
    queue.handle('write', async (_, entry) => {
      if (entry.itemId === '1') stop.abort()
    })
    const result = await queue.replayBatch({ concurrency: 1, signal: stop.signal })
    expect(result).toEqual({ succeeded: 2, failed: 0, skipped: 3 })
    const none = await queue.replayBatch({ signal: AbortSignal.abort(), rate: 1 })
    expect(none).toEqual({ succeeded: 0, failed: 0, skipped: 3 })
  })

  it('does not wait for its rate limit after an abort', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let i = 0; i < 3; i++) await enqueue(`${i}`)
    queue.handle('write', () => {})
    const stop = new AbortController()
    const batch = queue.replayBatch({ rate: 0.001, signal: stop.signal })
    await clock.advance(0)
    stop.abort()
    expect(await batch).toEqual({ succeeded: 1, failed: 0, skipped: 2 })
  })

  it('requests replays for entries without a handler in this process, within its limit', async () => {
    const { queue, enqueue } = await setup()
    for (const item of ['a', 'b', 'c']) await enqueue(item, { operation: 'foreign' })
    await enqueue('own')
    queue.handle('write', () => {})
    expect(await queue.replayBatch({ limit: 3 })).toEqual({ succeeded: 1, failed: 0, skipped: 2 })
    const requested = (await queue.list()).items.filter(({ replayRequestedAt }) => replayRequestedAt != null)
    expect(requested.map(({ itemId }) => itemId)).toEqual(['a', 'b'])
  })

  it('continues when onProgress throws', async () => {
    const { queue, enqueue, lines } = await setup()
    await enqueue('a')
    await enqueue('b')
    queue.handle('write', () => {})
    const onProgress = () => {
      throw new Error('oops')
    }
    expect((await queue.replayBatch({ onProgress })).succeeded).toBe(2)
    expect(lines).toHaveLength(1)
  })

  it('rejects with the error of the store after the running replays, and starts no more', async () => {
    const { kit, queue, enqueue, clock } = await setup()
    for (let i = 0; i < 10; i++) await enqueue(`${i}`)
    queue.handle('write', () => new Promise<void>((resolve) => clock.setTimer(resolve, 10)))
    const { deadLetters } = kit.store
    const leaseNext = deadLetters.leaseNext.bind(deadLetters)
    let calls = 0
    deadLetters.leaseNext = (...args) =>
      ++calls === 3 ? Promise.reject(new Error('gone')) : leaseNext(...args)
    const batch = queue.replayBatch({ concurrency: 2 }).catch((error: unknown) => error)
    await clock.advance(1000)
    expect(await batch).toEqual(new Error('gone'))
    const { byStatus } = await queue.stats()
    expect(byStatus.replaying).toBe(0)
    expect(byStatus.completed).toBeLessThan(5)
  })

  it('reports all problems of its options', async () => {
    const { queue } = await setup()
    const wrong = {
      limit: 0,
      concurrency: 1.5,
      rate: -1,
      operation: '',
      signal: {},
      onProgress: 1,
      retryFailed: 'yes',
    }
    const { code, message } = await refusal(queue.replayBatch(wrong as never))
    expect(code).toBe('INVALID_OPTIONS')
    for (const name of Object.keys(wrong)) expect(message).toContain(`${name}: expected`)
  })

  it('leaves entries pending that a full bulkhead rejected', async () => {
    const { queue, enqueue, clock } = await setup({
      guards: { write: { retry: false, bulkhead: { limit: 1 } } },
    })
    await enqueue('a')
    await enqueue('b')
    queue.handle('write', () => new Promise<void>((resolve) => clock.setTimer(resolve, 10)))
    const batch = queue.replayBatch({ concurrency: 2 })
    await clock.advance(100)
    expect(await batch).toEqual({ succeeded: 1, failed: 0, skipped: 1 })
    expect((await queue.stats()).byStatus.pending).toBe(1)
  })

  it('ends when the queue is closed, and starts nothing afterwards', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let i = 0; i < 3; i++) await enqueue(`${i}`)
    queue.handle('write', () => new Promise<void>((resolve) => clock.setTimer(resolve, 10)))
    const batch = queue.replayBatch({ concurrency: 1 })
    await clock.advance(0)
    const closed = queue.close()
    await clock.advance(10)
    await closed
    expect(await batch).toEqual({ succeeded: 1, failed: 0, skipped: 2 })
    const refused: unknown = await queue.replayBatch().catch((error: unknown) => error)
    expect(isHoldfastError(refused, 'CANCELLED')).toBe(true)
  })
})
