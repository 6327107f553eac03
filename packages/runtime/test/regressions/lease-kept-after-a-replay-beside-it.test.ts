import { describe, expect, it } from 'vitest'
import { eventually, freshStore, STORES, setup } from '../dead-letters/setup.js'

// A batch that leased an entry while another batch of the same process recorded its result did not replay the entry, and kept the
// lease: the entry could not be replayed for five minutes.

describe.each(STORES)('an entry in %s that is leased while its last result is being recorded', (kind) => {
  /** A failed replay whose result is stored, but whose store has not answered yet; `answer` lets it answer. */
  async function recording() {
    const store = await freshStore(kind)
    const parts = await setup({ store })
    const { dlqId } = await parts.enqueue('a')
    const results = ['down', 'up']
    parts.queue.handle('write', () => {
      if (results.shift() === 'down') throw new Error('down')
    })
    const settle = store.deadLetters.settle.bind(store.deadLetters)
    let answer = () => {}
    let isStored = false
    store.deadLetters.settle = async (...args) => {
      const settled = await settle(...args)
      if (isStored) return settled
      isStored = true
      await new Promise<void>((resolve) => (answer = resolve))
      return settled
    }
    const first = parts.queue.replayBatch()
    await eventually(() => expect(isStored).toBe(true))
    return { ...parts, dlqId, first, answer: () => answer() }
  }

  it('is released when the result is recorded', async () => {
    const { queue, dlqId, first, answer } = await recording()
    expect(await queue.replayBatch({ retryFailed: true })).toEqual({ succeeded: 0, failed: 0, skipped: 1 })
    expect(await queue.get(dlqId)).toMatchObject({ status: 'replaying' })
    answer()
    expect(await first).toEqual({ succeeded: 0, failed: 1, skipped: 0 })
    await eventually(async () => expect(await queue.get(dlqId)).toMatchObject({ status: 'failed' }))
    expect(await queue.replayBatch({ retryFailed: true })).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
  })
})
