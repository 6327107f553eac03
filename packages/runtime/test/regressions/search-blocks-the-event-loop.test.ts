// A search in dead letters decrypted and searched up to 200 entries in one turn of the event loop: 200 ms with payloads of 96 kB.
import { describe, expect, it, onTestFinished } from 'vitest'
import { setup } from '../dead-letters/setup.js'

/** Counts the turns of the event loop until a promise settles. */
async function turnsUntil(result: Promise<unknown>): Promise<number> {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  await result
  return turns
}

const ENTRIES = 100

/** A queue with payloads of 96 kB, of which every tenth contains `Needle`. */
async function setupLargeEntries() {
  const { queue, enqueue } = await setup({ options: { encryptionKey: [`k1:${'A'.repeat(43)}=`] } })
  const ids: string[] = []
  for (let i = 0; i < ENTRIES; i++) {
    const payload = { text: `${'x'.repeat(96 * 1024)} ${i % 10 === 0 ? 'Needle' : 'hay'}` }
    ids.push((await enqueue(`item-${i}`, { payload })).dlqId)
  }
  return { queue, ids, found: ids.filter((_, i) => i % 10 === 0) }
}

/** A search gets a turn after 256 kB, which is after three entries. */
const EXPECTED_TURNS = Math.floor(ENTRIES / 3) - 1

describe('gives the event loop turns while large dead letters are', () => {
  it('listed by a text', async () => {
    const { queue, found } = await setupLargeEntries()
    const result = queue.list({ search: 'needle' })
    expect(await turnsUntil(result)).toBeGreaterThanOrEqual(EXPECTED_TURNS)
    expect((await result).items.map(({ dlqId }) => dlqId)).toEqual(found)
  })

  it('counted by a text', async () => {
    const { queue } = await setupLargeEntries()
    const result = queue.count({ search: 'NEEDLE' })
    expect(await turnsUntil(result)).toBeGreaterThanOrEqual(EXPECTED_TURNS)
    expect(await result).toMatchObject({ total: ENTRIES / 10 })
  })

  it('purged by ids and a text', async () => {
    const { queue, ids } = await setupLargeEntries()
    const result = queue.purge({ ids, search: 'needle' })
    expect(await turnsUntil(result)).toBeGreaterThanOrEqual(EXPECTED_TURNS)
    expect(await result).toBe(ENTRIES / 10)
  })
})
