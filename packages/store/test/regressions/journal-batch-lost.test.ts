import { expect, it } from 'vitest'
import { JournalBuffer, type JournalRows } from '../../src/sqlite/journal-buffer.js'
import { eventTable } from '../../src/sqlite/journal-tables.js'
import { event } from '../contract/records.js'

it('rejects an append of several batches if the first of them was not written', async () => {
  const rows = {
    async insert(encoded: readonly { entries: number }[]) {
      const entries = encoded.reduce((sum, row) => sum + row.entries, 0)
      if (entries === 512) throw new Error('the disk is full')
    },
  } as unknown as JournalRows<never, never>
  const journal = new JournalBuffer(rows as never, eventTable)
  const records = Array.from({ length: 600 }, (_, n) => event(n))
  await expect(journal.append(records)).rejects.toThrow('the disk is full')
})
