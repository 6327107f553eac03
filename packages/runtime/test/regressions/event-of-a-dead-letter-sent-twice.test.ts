import { expect, it } from 'vitest'
import { freshStore, STORES, setup } from '../dead-letters/setup.js'

// A store that lost the response to an insert sends it again, and finds the entry of the first send. The call that had created the entry
// took it for that of another call: no event of its creation was emitted, and the number of entries was wrong.

it.each(STORES)('a dead letter in %s whose insert was sent twice is reported as created', async (kind) => {
  const store = await freshStore(kind)
  const { kit, queue, enqueue, events } = await setup({ store })
  const add = store.deadLetters.add.bind(store.deadLetters)
  kit.store.deadLetters.add = async (...args) => {
    await add(...args)
    return add(...args)
  }
  const created = await enqueue('a', { idempotencyKey: 'k' })
  const same = await enqueue('a', { idempotencyKey: 'k' })
  expect(same.dlqId).toBe(created.dlqId)
  const dlqIds = events
    .filter(({ eventType }) => eventType === 'dead_letter_enqueued')
    .map(({ context }) => context?.dlq_id)
  expect(dlqIds).toEqual([created.dlqId])
  expect((await queue.stats()).total).toBe(1)
})
