import { expect, it } from 'vitest'
import { JournalBuffer, type JournalRows } from '../../src/sqlite/journal-buffer.js'
import { eventTable } from '../../src/sqlite/journal-tables.js'
import { event } from '../contract/records.js'

it('writes no record of an append of several batches after the append was rejected', async () => {
  const written: number[] = []
  const rows = {
    async insert(encoded: readonly { entries: number }[]) {
      const entries = encoded.reduce((sum, row) => sum + row.entries, 0)
      if (entries === 512) throw new Error('the disk is full')
      written.push(entries)
    },
  } as unknown as JournalRows<never, never>
  const journal = new JournalBuffer(rows as never, eventTable)
  const appended = journal.append(Array.from({ length: 600 }, (_, n) => event(n)))
  const writtenAtEnd = appended.then(
    () => [],
    () => [...written],
  )
  expect(await writtenAtEnd).toEqual([88])
  journal.flush()
  expect(written).toEqual([88])
})
