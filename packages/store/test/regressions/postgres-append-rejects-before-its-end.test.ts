import { afterEach, expect, it, vi } from 'vitest'
import { parseAddress } from '../../src/postgres/address.js'
import { PostgresDatabase } from '../../src/postgres/database.js'
import { PostgresJournal } from '../../src/postgres/journal.js'
import { eventJournal } from '../../src/postgres/journal-tables.js'
import { event } from '../contract/records.js'
import { LONG_TIMEOUTS } from '../long-timeouts.js'

// An append of several batches was rejected as soon as one of them had failed, and the next ones were written after that.

interface Inserts {
  insert(lines: readonly unknown[]): Promise<void[]>
}

afterEach(() => void vi.restoreAllMocks())

it('writes no record of an append of several batches to PostgreSQL after the append was rejected', async () => {
  const written: number[] = []
  vi.spyOn(PostgresJournal.prototype as unknown as Inserts, 'insert').mockImplementation(async (lines) => {
    if (written.length === 0 && lines.length === 512) throw new Error('the connection ended')
    written.push(lines.length)
    return lines.map(() => {})
  })
  const address = parseAddress('postgres://127.0.0.1/some', 'some')
  const journal = new PostgresJournal(
    new PostgresDatabase(address, { connections: 1, ...LONG_TIMEOUTS }),
    eventJournal,
  )
  const appended = journal.append(Array.from({ length: 600 }, (_, n) => event(n)))
  const writtenAtEnd = appended.then(
    () => [],
    () => [...written],
  )
  expect(await writtenAtEnd).toEqual([88])
  await journal.whenIdle()
  expect(written).toEqual([88])
})
