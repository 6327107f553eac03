import { describe, expect, it, vi } from 'vitest'
import { freshStore, setup } from '../dead-letters/setup.js'

// Each replay took a transaction of its own for its lease, which named every entry replayed before it, and another for its
// result: eight processes were slower than one.

const LEASE_MS = 5 * 60_000

async function queueOf(count: number) {
  const store = await freshStore('batches')
  const leases = vi.spyOn(store.deadLetters, 'leaseNext')
  const parts = await setup({ store })
  for (let n = 0; n < count; n++) await parts.enqueue(`item${n}`)
  const statuses = async () => (await parts.queue.stats()).byStatus
  return { ...parts, leases, statuses }
}

describe('replays from a store that leases in batches', () => {
  it('need few lease statements for many entries, and exclude no completed entry', async () => {
    const { queue, leases } = await queueOf(500)
    queue.handle('write', () => {})
    expect(await queue.replayBatch()).toEqual({ succeeded: 500, failed: 0, skipped: 0 })
    expect(leases.mock.calls.length).toBeLessThan(15)
    const passedOver = leases.mock.calls.map(([{ except }]) => except?.size ?? 0)
    expect(Math.max(...passedOver)).toBeLessThan(150)
  })

  it('lease only as many entries as can start until the handlers are known to be fast', async () => {
    const { queue, statuses } = await queueOf(50)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    queue.handle('write', () => held)
    const batch = queue.replayBatch({ concurrency: 3 })
    await expect.poll(async () => (await statuses()).replaying).toBe(3)
    expect((await statuses()).pending).toBe(47)
    release()
    expect(await batch).toMatchObject({ succeeded: 50 })
  })

  it('release entries that were leased ahead when handlers become slow, and replay them later', async () => {
    const { queue, clock, statuses } = await queueOf(200)
    let begun = 0
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    queue.handle('write', () => (++begun > 20 ? held : undefined))
    const batch = queue.replayBatch({ concurrency: 4 })
    await expect.poll(() => begun).toBe(24)
    expect((await statuses()).replaying).toBeGreaterThan(4)
    await clock.advance(2000)
    await expect.poll(async () => (await statuses()).replaying).toBe(4)
    expect((await statuses()).pending).toBe(176)
    release()
    expect(await batch).toEqual({ succeeded: 200, failed: 0, skipped: 0 })
    expect(begun).toBe(200)
  })

  it('release entries that were leased ahead when the batch is aborted', async () => {
    const { queue, statuses } = await queueOf(200)
    const stop = new AbortController()
    let begun = 0
    queue.handle('write', () => {
      if (++begun === 30) stop.abort()
    })
    const { succeeded, failed, skipped } = await queue.replayBatch({ signal: stop.signal })
    expect(succeeded).toBe(begun)
    expect([failed, skipped]).toEqual([0, 200 - begun])
    expect(await statuses()).toMatchObject({ completed: begun, replaying: 0, pending: 200 - begun })
    expect(begun).toBeLessThan(40)
  })

  it('release entries that were leased ahead when a worker ends', async () => {
    const { queue, store, clock, statuses } = await queueOf(100)
    for (const { dlqId } of (await queue.list({ limit: 100 })).items)
      await store.deadLetters.request(dlqId, new Date(clock.wall()))
    const stop = new AbortController()
    let begun = 0
    queue.handle('write', () => {
      if (++begun === 30) stop.abort()
    })
    await queue.work({ signal: stop.signal })
    expect(await statuses()).toMatchObject({ completed: begun, replaying: 0, pending: 100 - begun })
    // The requests are still there for the next worker.
    const again = new AbortController()
    const working = queue.work({ signal: again.signal })
    await expect.poll(async () => (await statuses()).completed).toBe(100)
    again.abort()
    await working
    expect(begun).toBe(100)
  })

  it('end with the error if results cannot be stored, and complete nothing twice afterwards', async () => {
    const { queue, store, clock, statuses } = await queueOf(40)
    const settle = vi.spyOn(store.deadLetters, 'settle').mockRejectedValue(new Error('the store is gone'))
    const called: string[] = []
    queue.handle('write', (_: unknown, { idempotencyKey }) => void called.push(idempotencyKey))
    const batch = queue.replayBatch().catch((error: unknown) => error)
    // Results are recorded again for about 50 seconds.
    await clock.advance(60_000)
    expect(await batch).toMatchObject({ message: 'the store is gone' })
    settle.mockRestore()
    const before = called.length
    await clock.advance(LEASE_MS)
    expect(await queue.replayBatch()).toEqual({ succeeded: 40, failed: 0, skipped: 0 })
    expect(called.length).toBe(before + 40)
    expect(new Set(called).size).toBe(40)
    expect(await statuses()).toMatchObject({ completed: 40 })
  })
})
