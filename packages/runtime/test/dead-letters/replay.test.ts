import { HoldfastError } from 'holdfast'
import { scripted } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { eventually, freshStore, refusal, STORES, setup } from './setup.js'

const MINUTE = 60_000
const DAY = 86_400_000

/** A handler that runs until it is told how to end. */
function hanging() {
  let end: ((error?: unknown) => void) | undefined
  const handler = () =>
    new Promise<void>((resolve, reject) => {
      end = (error) => (error === undefined ? resolve() : reject(error))
    })
  return { handler, begun: () => end !== undefined, end: (error?: unknown) => end?.(error) }
}

describe.each(STORES)('a replay with a queue in %s', (kind) => {
  it('calls the handler with the payload and the idempotency key, and completes the entry', async () => {
    const { queue, enqueue, clock, events, audits } = await setup({ store: await freshStore(kind) })
    const entry = await enqueue('a', { idempotencyKey: 'k' })
    const handler = scripted(['done'])
    queue.handle('write', handler)
    await clock.advance(1000)
    const replayed = await queue.replay(entry.dlqId, { by: 'ann', reason: 'repaired' })
    expect(replayed).toMatchObject({ status: 'completed', processed: true, originalPayload: { itemId: 'a' } })
    expect(replayed.replayedAt).toEqual(new Date(clock.wall()))
    expect(handler.args[0]?.[0]).toEqual({ itemId: 'a' })
    expect(handler.args[0]?.[1]).toMatchObject({ dlqId: entry.dlqId, idempotencyKey: 'k' })
    expect(await queue.isProcessed(entry.dlqId)).toBe(true)
    expect(events.at(-1)).toMatchObject({
      eventType: 'dead_letter_replayed',
      operation: 'write',
      context: { dlq_id: entry.dlqId, item_id: 'a' },
    })
    expect(audits).toEqual([
      {
        actor: { by: 'ann', reason: 'repaired' },
        action: 'dead_letter.replay',
        target: entry.dlqId,
        change: { before: 'pending', after: 'completed' },
      },
    ])
    expect(await queue.replay(entry.dlqId)).toEqual(replayed)
    expect(handler.calls).toBe(1)
  })

  it('appends its error to the history of the entry if it fails', async () => {
    const { queue, enqueue, clock, events } = await setup({ store: await freshStore(kind) })
    const { dlqId } = await enqueue('a')
    const broken = [new Error('still down'), new RangeError('worse, hunter2')]
    queue.handle('write', scripted([...broken, 'up']))
    await clock.advance(10)
    expect((await queue.replay(dlqId)).status).toBe('failed')
    await clock.advance(10)
    const failed = await queue.replay(dlqId)
    expect(failed.errorDetails).toMatchObject({
      errorMessage: 'down',
      history: [
        { errorType: 'Error', errorMessage: 'still down' },
        { errorType: 'RangeError', errorMessage: 'worse, ***', at: new Date(clock.wall()) },
      ],
    })
    expect(failed.lastAttempt).toEqual(new Date(clock.wall()))
    expect(await queue.get(dlqId)).toEqual(failed)
    expect(events.at(-1)).toMatchObject({
      eventType: 'dead_letter_failed',
      error: { type: 'RangeError', message: 'worse, ***' },
    })
    expect(await queue.isProcessed(dlqId)).toBe(false)
    expect((await queue.replay(dlqId)).status).toBe('completed')
  })

  it('records the number of its own retries if it fails', async () => {
    const { queue, enqueue, clock } = await setup({
      store: await freshStore(kind),
      guards: { write: { retry: { maxAttempts: 3, backoffType: 'immediate' } } },
    })
    const { dlqId } = await enqueue('a')
    // The same object each time, as one that is made beforehand is: nothing remembers how often it was thrown.
    const error = Object.freeze(new Error('down'))
    queue.handle('write', () => Promise.reject(error))
    const replay = queue.replay(dlqId)
    await clock.advance(1000)
    expect((await replay).errorDetails.history).toMatchObject([{ retryCount: 2 }])
    queue.handle('write', () => Promise.reject('a text'))
    expect((await queue.replay(dlqId)).errorDetails.history?.at(-1)).toMatchObject({ retryCount: 0 })
  })

  it('is rejected for an unknown or purged entry', async () => {
    const { queue, enqueue } = await setup({ store: await freshStore(kind) })
    queue.handle('write', () => {})
    expect((await refusal(queue.replay('../../nothing\0'))).code).toBe('DEAD_LETTER_NOT_FOUND')
    const { dlqId } = await enqueue('a')
    await queue.purge({ ids: [dlqId] })
    expect((await refusal(queue.replay(dlqId))).code).toBe('DEAD_LETTER_NOT_FOUND')
  })

  it('holds a lease while its handler runs', async () => {
    const { queue, enqueue, clock } = await setup({ store: await freshStore(kind) })
    const { dlqId } = await enqueue('a')
    const { handler, begun, end } = hanging()
    queue.handle('write', handler)
    const replay = queue.replay(dlqId)
    await eventually(() => expect(begun()).toBe(true))
    for (let minutes = 0; minutes < 60; minutes += 4) {
      await clock.advance(4 * MINUTE)
      const second: unknown = await queue.replay(dlqId).catch((error: unknown) => error)
      expect(second).toMatchObject({ code: 'DEAD_LETTER_LEASED', status: 409 })
      expect((second as HoldfastError).retryAfter).toBeGreaterThan(0)
      expect(await queue.purge({})).toBe(0)
    }
    expect((await queue.stats()).byStatus.replaying).toBe(1)
    end()
    expect((await replay).status).toBe('completed')
  })

  it('can be repeated by another worker after the lease of a dead worker has expired', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue, clock } = await setup({ store })
    const { dlqId } = await enqueue('a')
    const now = () => new Date(clock.wall())
    await store.deadLetters.lease(dlqId, 'a worker that dies', new Date(clock.wall() + 5 * MINUTE), now())
    queue.handle('write', () => {})
    expect((await refusal(queue.replay(dlqId))).code).toBe('DEAD_LETTER_LEASED')
    await clock.advance(5 * MINUTE)
    expect((await queue.get(dlqId))?.status).toBe('pending')
    expect((await queue.replay(dlqId)).status).toBe('completed')
    const late = await store.deadLetters.settle(dlqId, 'a worker that dies', {
      status: 'completed',
      at: now(),
    })
    expect(late).toBeUndefined()
  })

  it('is not recorded twice if another process completed the entry first', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue, clock, events } = await setup({ store })
    const { dlqId } = await enqueue('a')
    const { handler, begun, end } = hanging()
    queue.handle('write', handler)
    const replay = queue.replay(dlqId)
    await eventually(() => expect(begun()).toBe(true))
    await store.deadLetters.complete(dlqId, new Date(clock.wall()))
    end()
    expect((await replay).status).toBe('completed')
    expect(events.filter(({ eventType }) => eventType === 'dead_letter_replayed')).toEqual([])
  })

  it('keeps the times of the entry in order if the clock steps back', async () => {
    const { queue, enqueue, clock } = await setup({ store: await freshStore(kind) })
    const { dlqId, createdAt } = await enqueue('a')
    const other = await enqueue('b')
    queue.handle('write', scripted([new Error('down'), 'up']))
    clock.stepWall(-3_600_000)
    const failed = await queue.replay(dlqId)
    expect(failed.lastAttempt >= createdAt).toBe(true)
    clock.stepWall(-3_600_000)
    const done = await queue.replay(dlqId)
    expect(done.lastAttempt >= failed.lastAttempt).toBe(true)
    expect((done.replayedAt as Date) >= done.lastAttempt).toBe(true)
    const completed = await queue.complete(other.dlqId)
    expect((completed.replayedAt as Date) >= completed.lastAttempt).toBe(true)
  })

  it('becomes a replay request if this process has no handler', async () => {
    const { queue, enqueue, clock, audits, store } = await setup({ store: await freshStore(kind) })
    const { dlqId } = await enqueue('a')
    const requested = await queue.replay(dlqId, { by: 'ann' })
    expect(requested).toMatchObject({ status: 'pending', replayRequestedAt: new Date(clock.wall()) })
    expect(audits).toMatchObject([{ action: 'dead_letter.replay', change: { after: 'requested' } }])
    await queue.complete(dlqId)
    expect((await queue.replay(dlqId)).status).toBe('completed')
    const held = await enqueue('b')
    const until = new Date(clock.wall() + 5 * MINUTE)
    await store.deadLetters.lease(held.dlqId, 'other', until, new Date(clock.wall()))
    expect((await refusal(queue.replay(held.dlqId))).code).toBe('DEAD_LETTER_LEASED')
  })
})

describe('a replay', () => {
  it('is retried by the policy of its operation, with the same key and a copy of the payload each time', async () => {
    const { queue, enqueue } = await setup({
      guards: { write: { retry: { maxAttempts: 3, backoffType: 'immediate' } } },
    })
    const { dlqId, idempotencyKey } = await enqueue('a', { payload: { list: [1] } })
    const seen: unknown[] = []
    queue.handle('write', (payload: { list: number[] }, entry, attempt) => {
      seen.push([structuredClone(payload), entry.idempotencyKey, attempt.number])
      payload.list.push(2)
      if (attempt.number < 3) throw new Error('not yet')
    })
    expect((await queue.replay(dlqId)).status).toBe('completed')
    expect(seen).toEqual([1, 2, 3].map((number) => [{ list: [1] }, idempotencyKey, number]))
  })

  it('fails with the error of an open breaker', async () => {
    const { queue, enqueue } = await setup({
      guards: { write: { retry: false, breaker: { failureThreshold: 1 } } },
    })
    const [a, b] = [await enqueue('a'), await enqueue('b')]
    const handler = scripted([new Error('down')])
    queue.handle('write', handler)
    await queue.replay(a.dlqId)
    const refused = await queue.replay(b.dlqId)
    expect(refused.status).toBe('failed')
    expect(refused.errorDetails.history?.[0]?.errorMessage).toContain('open')
    expect(handler.calls).toBe(1)
  })

  it('leaves the entry unchanged if it is cancelled', async () => {
    const { queue, enqueue } = await setup()
    const { dlqId } = await enqueue('a')
    queue.handle('write', () => {
      throw new HoldfastError('CANCELLED', 'closing')
    })
    expect((await refusal(queue.replay(dlqId))).code).toBe('CANCELLED')
    const entry = await queue.get(dlqId)
    expect(entry?.status).toBe('pending')
    expect(entry?.errorDetails.history).toBeUndefined()
  })

  it('is settled after a failure of the store, without running the handler again', async () => {
    const { kit, queue, enqueue, clock } = await setup()
    const { dlqId } = await enqueue('a')
    const handler = scripted(['done'])
    queue.handle('write', handler)
    const { deadLetters } = kit.store
    const settle = deadLetters.settle.bind(deadLetters)
    let stumbles = 2
    deadLetters.settle = (...args) =>
      stumbles-- > 0 ? Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'busy')) : settle(...args)
    const replay = queue.replay(dlqId)
    await clock.advance(1000)
    expect((await replay).status).toBe('completed')
    expect(handler.calls).toBe(1)
  })

  it('continues while its lease cannot be renewed, and renews it as soon as possible', async () => {
    const { kit, queue, enqueue, clock, logs } = await setup()
    const { dlqId } = await enqueue('a')
    const { handler, end } = hanging()
    queue.handle('write', handler)
    const { deadLetters } = kit.store
    const { renew } = deadLetters
    deadLetters.renew = () => Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'busy'))
    const replay = queue.replay(dlqId)
    await clock.advance(2 * MINUTE)
    deadLetters.renew = renew
    await clock.advance(2 * MINUTE)
    await clock.advance(3 * MINUTE)
    expect((await queue.get(dlqId))?.status).toBe('replaying')
    expect(logs.join()).toContain('could not be renewed')
    end()
    expect((await replay).status).toBe('completed')
  })

  it('completes the entry even if its lease was lost, and stops renewing it', async () => {
    const { kit, queue, enqueue, clock, logs } = await setup()
    const { dlqId } = await enqueue('a')
    const { handler, end } = hanging()
    queue.handle('write', handler)
    let renewals = 0
    kit.store.deadLetters.renew = async () => {
      renewals++
      return false
    }
    const replay = queue.replay(dlqId)
    await clock.advance(60 * MINUTE)
    expect(renewals).toBe(1)
    expect(logs.join()).toContain('a lease was lost')
    expect((await queue.get(dlqId))?.status).toBe('pending')
    end()
    expect((await replay).status).toBe('completed')
    expect(await queue.isProcessed(dlqId)).toBe(true)
  })

  it('runs even if its audit record cannot be written', async () => {
    const { kit, queue, enqueue, lines } = await setup()
    const { dlqId } = await enqueue('a')
    queue.handle('write', () => {})
    Object.assign(kit, { audit: () => Promise.reject(new Error('full')) })
    expect((await queue.replay(dlqId)).status).toBe('completed')
    expect(lines.join()).toContain('could not be written to the audit log')
  })

  it('leaves no timer', async () => {
    const { queue, enqueue, clock } = await setup()
    const timers = new Set<unknown>()
    const { setTimer, clearTimer } = clock
    clock.setTimer = (fn, ms) => {
      const timer = setTimer(() => {
        timers.delete(timer)
        fn()
      }, ms)
      timers.add(timer)
      return timer
    }
    clock.clearTimer = (timer) => {
      timers.delete(timer)
      clearTimer(timer)
    }
    queue.handle('write', scripted([new Error('down'), 'up']))
    const { dlqId } = await enqueue('a')
    await queue.replay(dlqId)
    await queue.replay(dlqId)
    expect(timers.size).toBe(0)
  })
})

describe('dead letters', () => {
  it('are completed manually only once', async () => {
    const { queue, enqueue, audits } = await setup()
    const { dlqId } = await enqueue('a')
    const done = await queue.complete(dlqId, { by: 'ann' })
    expect(done).toMatchObject({ status: 'completed', processed: true })
    expect(await queue.complete(dlqId)).toEqual(done)
    expect(audits).toMatchObject([
      { action: 'dead_letter.complete', change: { before: 'pending', after: 'completed' } },
    ])
    expect((await refusal(queue.complete('nothing'))).code).toBe('DEAD_LETTER_NOT_FOUND')
  })

  it('are purged by a filter, and completed ones stay known as processed', async () => {
    const { queue, enqueue, audits, clock } = await setup()
    const old = await enqueue('old', { operation: 'fetch' })
    await queue.complete(old.dlqId)
    await clock.advance(1000)
    await enqueue('new')
    expect(await queue.purge({ operation: 'fetch', to: new Date(clock.wall()) }, { by: 'ann' })).toBe(1)
    expect(audits.at(-1)).toMatchObject({
      actor: { by: 'ann' },
      action: 'dead_letter.purge',
      target: 'fetch',
      change: { after: { purged: 1 } },
    })
    expect(await queue.isProcessed(old.dlqId)).toBe(true)
    expect(await queue.get(old.dlqId)).toBeUndefined()
    expect(await queue.purge({ status: 'pending', by: 'ben' })).toBe(1)
    expect(audits.at(-1)).toMatchObject({ actor: { by: 'ben' } })
  })

  it('cannot be listed or purged with an invalid filter', async () => {
    const { queue } = await setup()
    const list = await refusal(queue.list({ status: 'lost' as never, from: 'yesterday' as never }))
    expect(list.code).toBe('INVALID_OPTIONS')
    expect(list.message).toContain('status: expected pending, replaying, completed, failed')
    expect(list.message).toContain('from: expected a valid Date, got "yesterday"')
    expect((await refusal(queue.purge({ ids: 'all' as never }))).code).toBe('INVALID_OPTIONS')
    expect((await refusal(queue.purge(undefined as never))).code).toBe('INVALID_OPTIONS')
    expect((await refusal(queue.list({ cursor: '???' }))).code).toBe('INVALID_OPTIONS')
  })

  it('are deleted by age, except for leased ones', async () => {
    const { queue, enqueue, clock, logs } = await setup({ options: { maxAge: 10 * MINUTE } })
    await enqueue('old')
    const held = await enqueue('held', { operation: 'slow' })
    const { handler, end } = hanging()
    queue.handle('slow', handler)
    const replay = queue.replay(held.dlqId)
    await clock.advance(9 * MINUTE)
    await enqueue('young')
    expect(await queue.expire()).toBe(0)
    await clock.advance(2 * MINUTE)
    expect(await queue.expire()).toBe(1)
    expect((await queue.list()).items.map(({ itemId }) => itemId)).toEqual(['held', 'young'])
    expect(logs.join()).toContain('because of their age')
    end()
    await replay
  })

  it('are deleted by number once they are completed, the oldest first', async () => {
    const { queue, enqueue, clock, logs } = await setup({ options: { maxEntries: 3 } })
    const ids: string[] = []
    for (const itemId of ['a', 'b', 'c', 'd', 'e']) {
      const { dlqId } = await enqueue(itemId)
      ids.push(dlqId)
      if (itemId !== 'b') await queue.complete(dlqId)
      await clock.advance(1000)
    }
    expect(await queue.expire()).toBe(1)
    expect((await queue.list()).items.map(({ itemId }) => itemId)).toEqual(['b', 'c', 'd', 'e'])
    expect(logs.join()).toContain('because of their number')
    expect(await queue.isProcessed(ids[0] as string)).toBe(true)
    expect(await queue.expire()).toBe(0)
  })

  it('stay known as processed for 30 days after they were deleted by age', async () => {
    const { queue, enqueue, clock } = await setup({ options: { maxAge: 10 * DAY } })
    const { dlqId } = await enqueue('a')
    await queue.complete(dlqId)
    for (let day = 0; day < 40; day++) {
      expect(await queue.isProcessed(dlqId), `day ${day}`).toBe(true)
      await clock.advance(DAY)
      await queue.expire()
    }
    expect(await queue.get(dlqId)).toBeUndefined()
    await clock.advance(DAY)
    await queue.expire()
    expect(await queue.isProcessed(dlqId)).toBe(false)
  })

  it('stay known as processed without a maximum age', async () => {
    const { queue, enqueue, clock } = await setup({ options: { maxAge: Number.POSITIVE_INFINITY } })
    const { dlqId } = await enqueue('a')
    await queue.complete(dlqId)
    await queue.purge({})
    await clock.advance(1000 * DAY)
    await queue.expire()
    expect(await queue.isProcessed(dlqId)).toBe(true)
  })

  it('stay known as processed when the clock is set forward', async () => {
    const { queue, enqueue, clock } = await setup({ options: { maxAge: 10 * DAY } })
    const { dlqId } = await enqueue('a')
    await queue.complete(dlqId)
    await queue.purge({})
    clock.stepWall(1000 * DAY)
    await queue.expire()
    expect(await queue.isProcessed(dlqId)).toBe(true)
  })
})
