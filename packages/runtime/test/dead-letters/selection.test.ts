import { describe, expect, it } from 'vitest'
import type { BatchOptions, SkippedEntries } from '../../src/dead-letters/replay-batch.js'
import { eventually, freshStore, refusal, STORES, setup } from './setup.js'

const NONE = { pending: 0, replaying: 0, completed: 0, failed: 0 }

/** Six mails of two customers, two a day, in any store. The handler fails for one of them. */
async function mails(kind: (typeof STORES)[number] = 'memory') {
  const parts = await setup({ store: await freshStore(kind) })
  const { queue, enqueue, clock } = parts
  const start = clock.wall()
  for (const [n, customer] of ['acme', 'globex', 'acme', 'globex', 'acme', 'acme-2'].entries()) {
    await enqueue(`mail-${n}`, { operation: n === 5 ? 'other' : 'mail.send', payload: { n, customer } })
    if (n % 2 === 1) await clock.advance(86_400_000)
  }
  const seen: number[] = []
  for (const operation of ['mail.send', 'other'])
    queue.handle(operation, ({ n }: { n: number }) => {
      if (n === 4) throw new Error('still down')
      seen.push(n)
    })
  const day = (index: number) => new Date(start + index * 86_400_000)
  return { ...parts, seen, day }
}

describe.each(STORES)('a selection of dead letters in %s', (kind) => {
  it.each<[string, BatchOptions, number[]]>([
    ['an item', { itemId: 'mail-3' }, [3]],
    ['an operation', { operation: 'other' }, [5]],
    ['a text of the payload', { search: 'GLOBEX' }, [1, 3]],
    ['a field of the payload', { search: '"customer":"acme"' }, [0, 2, 4]],
    ['a text and an operation', { search: 'acme', operation: 'mail.send' }, [0, 2, 4]],
    ['a status that cannot be replayed', { status: ['completed', 'replaying'] }, []],
    ['no status', { status: [] }, []],
  ])('by %s is the same for list, count, replay and purge', async (_, selection, expected) => {
    const { queue, seen } = await mails(kind)
    const { items } = await queue.list(selection)
    expect(items.map(({ itemId }) => itemId)).toEqual(expected.map((n) => `mail-${n}`))
    expect(await queue.count(selection)).toMatchObject({
      total: expected.length,
      byStatus: { ...NONE, pending: expected.length },
    })
    const failed = expected.filter((n) => n === 4).length
    expect(await queue.replayBatch({ ...selection, concurrency: 1 })).toEqual({
      succeeded: expected.length - failed,
      failed,
      skipped: 0,
    })
    expect(seen).toEqual(expected.filter((n) => n !== 4))
    const { status: _status, ...rest } = selection
    if (selection.status === undefined) expect(await queue.purge(rest)).toBe(expected.length)
    expect((await queue.stats()).total).toBe(6 - (selection.status === undefined ? expected.length : 0))
  })

  it('by a time range and a text replays the mails of one customer and day', async () => {
    const { queue, seen, day } = await mails(kind)
    const selection = { from: day(1), to: day(2), search: '"customer":"acme"' }
    expect((await queue.count(selection)).total).toBe(1)
    expect(await queue.replayBatch(selection)).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
    expect(seen).toEqual([2])
    expect(await queue.replayBatch({ to: day(1) })).toEqual({ succeeded: 2, failed: 0, skipped: 0 })
    expect(new Set(seen)).toEqual(new Set([0, 1, 2]))
  })

  it('by ids replays pending and failed entries, and by status failed only', async () => {
    const { queue, seen } = await mails(kind)
    const ids = (await queue.list()).items.map(({ dlqId }) => dlqId)
    const wanted = { ids: [ids[4] as string, ids[1] as string, 'missing'] }
    expect((await queue.count(wanted)).total).toBe(2)
    expect(await queue.replayBatch(wanted)).toEqual({ succeeded: 1, failed: 1, skipped: 0 })
    expect(await queue.replayBatch(wanted)).toEqual({ succeeded: 0, failed: 1, skipped: 0 })
    expect(seen).toEqual([1])
    expect(await queue.replayBatch({ status: 'failed' })).toEqual({ succeeded: 0, failed: 1, skipped: 0 })
    expect(await queue.replayBatch({ ...wanted, status: 'pending' })).toEqual({
      succeeded: 0,
      failed: 0,
      skipped: 0,
    })
  })

  it.each<BatchOptions>([{ status: 'failed' }, { status: ['pending', 'failed'] }, { retryFailed: true }])(
    'of entries that fail again replays each of them once with %j',
    async (options) => {
      const { queue, enqueue } = await setup({ store: await freshStore(kind) })
      for (let n = 0; n < 3; n++) await enqueue(`mail-${n}`, { operation: 'mail.send', payload: { n } })
      const seen: number[] = []
      queue.handle('mail.send', ({ n }: { n: number }) => {
        seen.push(n)
        throw new Error('still down')
      })
      await queue.replayBatch({ concurrency: 1 })
      expect(await queue.replayBatch({ ...options, concurrency: 1 })).toEqual({
        succeeded: 0,
        failed: 3,
        skipped: 0,
      })
      expect(seen).toEqual([0, 1, 2, 0, 1, 2])
    },
  )

  it.each([{ ids: [] }, { status: [] }, { ids: [], search: 'acme' }, { status: [], search: 'acme' }])(
    'by an empty list selects nothing: %j',
    async (selection) => {
      const { queue, seen } = await mails(kind)
      expect((await queue.count(selection)).total).toBe(0)
      expect(await queue.purge(selection)).toBe(0)
      expect(await queue.replayBatch(selection)).toEqual({ succeeded: 0, failed: 0, skipped: 0 })
      expect(seen).toEqual([])
      expect((await queue.stats()).byStatus).toEqual({ ...NONE, pending: 6 })
    },
  )

  it('replays with the edited payload and keeps the original one', async () => {
    const { queue, audits } = await mails(kind)
    const id = (await queue.list()).items[4]?.dlqId as string
    expect(await queue.replay(id)).toMatchObject({ status: 'failed' })
    const edited = await queue.edit(id, { n: 40, customer: 'acme' }, { by: 'ann', reason: 'typo' })
    expect(edited).toMatchObject({
      originalPayload: { n: 4, customer: 'acme' },
      editedPayload: { n: 40, customer: 'acme' },
      status: 'failed',
    })
    expect(await queue.list({ search: '"n":40' })).toMatchObject({ items: [{ dlqId: id }] })
    expect(await queue.replay(id)).toMatchObject({
      status: 'completed',
      originalPayload: { n: 4 },
      editedPayload: { n: 40 },
    })
    expect(audits).toContainEqual({
      actor: { by: 'ann', reason: 'typo' },
      action: 'dead_letter.edit',
      target: id,
      change: { after: { fields: ['n'] } },
    })
    expect(await refusal(queue.edit(id, { n: 1 }))).toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('a selection of dead letters', () => {
  it('pages through the entries that contain a text, in both orders', async () => {
    const { queue, enqueue, clock } = await setup()
    for (let n = 0; n < 500; n++) {
      await enqueue(`item-${n}`, { payload: { n, customer: n % 100 === 7 ? 'rare' : 'common' } })
      await clock.advance(1)
    }
    for (const order of ['oldest', 'newest'] as const) {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await queue.list({ search: 'rare', limit: 2, order, cursor })
        expect(page.items.length).toBeLessThanOrEqual(2)
        found.push(...page.items.map(({ itemId }) => itemId))
        cursor = page.cursor
      } while (cursor !== undefined)
      const expected = ['item-7', 'item-107', 'item-207', 'item-307', 'item-407']
      expect(found).toEqual(order === 'oldest' ? expected : expected.toReversed())
    }
  })

  it('finds and edits encrypted payloads, and encrypts the edited payload in the store', async () => {
    const [first, second] = ['a'.repeat(64), 'b'.repeat(64)]
    const { queue, enqueue, store, live, clock } = await setup({ options: { encryptionKey: `one:${first}` } })
    const { dlqId } = await enqueue('mail', { payload: { customer: 'acme' } })
    expect((await queue.list({ search: 'acme' })).items).toHaveLength(1)
    await queue.edit(dlqId, { customer: 'globex' })
    const stored = async () => JSON.stringify(await store.deadLetters.get(dlqId, new Date(clock.wall())))
    expect(await stored()).not.toContain('globex')
    live.options = { ...live.options, encryptionKey: [`two:${second}`, `one:${first}`] }
    expect(await queue.rotate()).toEqual({ rewritten: 1, unreadable: [] })
    expect(await queue.rotate()).toEqual({ rewritten: 0, unreadable: [] })
    live.options = { ...live.options, encryptionKey: `two:${second}` }
    expect(await queue.get(dlqId)).toMatchObject({
      originalPayload: { customer: 'acme' },
      editedPayload: { customer: 'globex' },
    })
    await queue.edit(dlqId, { customer: 'acme' })
    expect((await queue.get(dlqId))?.editedPayload ?? null).toBeNull()
  })

  it('names the changed fields of an edit in the audit record, with a limit of their length', async () => {
    const { queue, enqueue, audits } = await setup()
    const { dlqId } = await enqueue('mail', { payload: { customer: 'acme' } })
    await queue.edit(dlqId, { customer: 'acme', ['x'.repeat(1000)]: 1 })
    expect(audits.at(-1)?.change).toEqual({ after: { fields: [`${'x'.repeat(100)}…`] } })
  })

  it('rejects an edit that cannot be stored, of an unknown entry, and during a replay', async () => {
    const { queue, enqueue } = await setup({ options: { maxPayload: 100 } })
    const { dlqId } = await enqueue('mail')
    expect(await refusal(queue.edit(dlqId, null))).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(await refusal(queue.edit(dlqId, 'x'.repeat(200)))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(await refusal(queue.edit('missing', 1))).toMatchObject({ code: 'DEAD_LETTER_NOT_FOUND' })
    let finish = () => {}
    queue.handle('write', () => new Promise<void>((resolve) => (finish = resolve)))
    const replaying = queue.replay(dlqId)
    await eventually(async () => expect((await queue.get(dlqId))?.status).toBe('replaying'))
    expect(await refusal(queue.edit(dlqId, 1))).toMatchObject({ code: 'DEAD_LETTER_LEASED' })
    finish()
    await replaying
  })

  it('passes over candidates that another process has leased', async () => {
    const { queue, enqueue, store, clock } = await setup()
    const ids: string[] = []
    for (let n = 0; n < 250; n++) ids.push((await enqueue(`item-${n}`)).dlqId)
    const now = new Date(clock.wall())
    for (const id of ids.slice(0, 120))
      await store.deadLetters.lease(id, 'other', new Date(clock.wall() + 60_000), now)
    queue.handle('write', () => {})
    const skipped: SkippedEntries[] = []
    const result = await queue.replayBatch({
      search: 'item-',
      status: ['pending', 'replaying'],
      onSkipped: (each) => void skipped.push(each),
    })
    expect(result).toEqual({ succeeded: 130, failed: 0, skipped: 0 })
    expect(skipped).toEqual([])
  })
})

describe('a replay while the breaker is open', () => {
  const guards = { write: { retry: false as const, breaker: { failureThreshold: 1, timeoutDuration: 5000 } } }

  it('of one entry is a failure, or waits until the breaker lets it through', async () => {
    const { queue, enqueue, clock, audits } = await setup({ guards })
    const [first, second, third] = [await enqueue('a'), await enqueue('b'), await enqueue('c')]
    let isDown = true
    queue.handle('write', () => {
      if (isDown) throw new Error('down')
    })
    expect(await queue.replay(first.dlqId)).toMatchObject({ status: 'failed' })
    expect(await queue.replay(second.dlqId)).toMatchObject({
      status: 'failed',
      errorDetails: { history: [{ errorType: 'HoldfastError' }] },
    })
    const waiting = await queue.replay(third.dlqId, { by: 'ann', waitForBreaker: true })
    expect(waiting).toMatchObject({ status: 'pending', replayRequestedAt: expect.any(Date) })
    expect(waiting.errorDetails.history).toBeUndefined()
    expect(audits.at(-1)).toMatchObject({ actor: { by: 'ann' }, change: { after: 'requested' } })
    isDown = false
    await eventually(async () => {
      await clock.advance(1000)
      expect(await queue.get(third.dlqId)).toMatchObject({ status: 'completed' })
    })
    await queue.close()
  })

  it('of a batch reports why entries were skipped, and replays them later on request', async () => {
    const { queue, enqueue, clock } = await setup({ guards })
    for (const item of ['a', 'b', 'c']) await enqueue(item)
    await enqueue('d', { operation: 'elsewhere' })
    let isDown = true
    queue.handle('write', () => {
      if (isDown) throw new Error('down')
    })
    const skipped: SkippedEntries[] = []
    const onSkipped = (each: SkippedEntries) => void skipped.push(each)
    expect(await queue.replayBatch({ concurrency: 1, onSkipped })).toEqual({
      succeeded: 0,
      failed: 1,
      skipped: 3,
    })
    expect(skipped.splice(0)).toEqual([
      { reason: 'unavailable', count: 2, operations: ['write'] },
      { reason: 'no_handler', count: 1, operations: ['elsewhere'] },
    ])
    const again = { operation: 'write', concurrency: 1, waitForBreaker: true, onSkipped }
    expect(await queue.replayBatch(again)).toEqual({ succeeded: 0, failed: 0, skipped: 2 })
    expect(skipped).toEqual([{ reason: 'waiting', count: 2, operations: ['write'] }])
    isDown = false
    await eventually(async () => {
      await clock.advance(1000)
      expect((await queue.stats()).byStatus).toEqual({ pending: 1, replaying: 0, completed: 2, failed: 1 })
    })
    await queue.close()
  })
})
