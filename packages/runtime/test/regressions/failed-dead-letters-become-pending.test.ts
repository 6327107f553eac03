import { expect, it } from 'vitest'
import { freshStore, STORES, setup } from '../dead-letters/setup.js'

it.each(STORES)('keeps a failed entry failed after a lease without a replay, in %s', async (kind) => {
  const store = await freshStore(kind)
  const { queue, clock, enqueue } = await setup({ store })
  queue.handle('write', async () => {
    throw new TypeError('still wrong')
  })
  const { dlqId } = await enqueue('item')
  expect((await queue.replay(dlqId)).status).toBe('failed')

  const now = new Date(clock.wall())
  const until = new Date(clock.wall() + 60_000)
  const want = { statuses: ['failed'], limit: 1 } as const
  const [leased] = await store.deadLetters.leaseNext(want, 'owner', until, now)
  expect(leased?.dlqId).toBe(dlqId)
  const settled = await store.deadLetters.settle(dlqId, 'owner', { status: 'pending', at: now })
  expect(settled?.status).toBe('failed')
})
