import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SqliteConnection } from '../../src/sqlite/connection.js'
import { errorRecord } from '../contract/records.js'
import { folder, opened } from '../sqlite-place.js'

it('reads many rows of a SQLite journal at a time if each has one record', async () => {
  const { errors } = await opened(join(await folder(), 'holdfast.db'))
  // Each append is a row of its own, because a count writes it at once.
  for (let n = 0; n < 450; n++) await Promise.all([errors.append([errorRecord(n)]), errors.count()])
  const read = vi.spyOn(SqliteConnection.prototype, 'read')
  onTestFinished(() => read.mockRestore())
  for (const order of ['newest', 'oldest'] as const) {
    read.mockClear()
    const { items, cursor } = await errors.list({ limit: 440, order })
    const first = order === 'newest' ? 449 : 0
    const step = order === 'newest' ? -1 : 1
    expect(items).toEqual(Array.from({ length: 440 }, (_, i) => errorRecord(first + step * i)))
    // It was 111 reads of four rows each.
    expect(read.mock.calls.length).toBeLessThanOrEqual(4)
    const rest = await errors.list({ order, cursor })
    expect(rest.items).toEqual(Array.from({ length: 10 }, (_, i) => errorRecord(first + step * (440 + i))))
  }
})
