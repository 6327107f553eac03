// A key rotation overwrote an edit that was stored between its read and its write of an entry.
import { describe, expect, it } from 'vitest'
import { freshStore, STORES, setup } from '../dead-letters/setup.js'

const OLD = `2025:${'A'.repeat(43)}=`
const NEW = `2026:${'B'.repeat(43)}=`

/** A queue with one edited entry whose next read by a rotation is followed by `meanwhile`, before the rotation continues. */
async function setupRotation(kind: (typeof STORES)[number], meanwhile: 'second' | 'original') {
  const store = await freshStore(kind)
  const { queue, enqueue, live } = await setup({ store, options: { encryptionKey: [OLD] } })
  const { dlqId } = await enqueue('a', { payload: 'original' })
  await queue.edit(dlqId, 'first')
  live.options = { ...live.options, encryptionKey: [NEW, OLD] }
  const { deadLetters } = store
  const get = deadLetters.get.bind(deadLetters)
  deadLetters.get = async (...args) => {
    const entry = await get(...args)
    deadLetters.get = get
    await queue.edit(dlqId, meanwhile)
    return entry
  }
  return { queue, live, dlqId }
}

describe.each(STORES)('in %s, a key rotation', (kind) => {
  it('keeps an edit that is stored while it encrypts the entry', async () => {
    const { queue, live, dlqId } = await setupRotation(kind, 'second')
    expect(await queue.rotate()).toEqual({ rewritten: 1, unreadable: [] })
    live.options = { ...live.options, encryptionKey: [NEW] }
    expect(await queue.get(dlqId)).toMatchObject({ originalPayload: 'original', editedPayload: 'second' })
  })

  it('does not restore an edited payload that an edit removes meanwhile', async () => {
    const { queue, live, dlqId } = await setupRotation(kind, 'original')
    expect(await queue.rotate()).toEqual({ rewritten: 1, unreadable: [] })
    live.options = { ...live.options, encryptionKey: [NEW] }
    const entry = await queue.get(dlqId)
    expect(entry?.originalPayload).toBe('original')
    expect(entry?.editedPayload ?? null).toBeNull()
  })
})
