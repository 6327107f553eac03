import { beforeEach, describe, expect, it } from 'vitest'
import { createSimulatedPostgres } from '../../src/substitutes/index.js'
import { PostgresSession } from '../../src/substitutes/postgres/session.js'

const PARTITION = '"holdfast"."events_0"'

// Deletions were made at once, also in a transaction that was rolled back afterwards.
describe('a transaction of the PostgreSQL substitute', () => {
  let expired: number[]
  let session: PostgresSession
  let other: PostgresSession

  const run = (on: PostgresSession, text: string, values: readonly unknown[] = []) =>
    on.execute(text, values, 0, false)
  const journal = (name: string, ...parts: unknown[]) =>
    `JOURNAL ${JSON.stringify([name, 'events', ...parts])}`
  const countRows = (on: PostgresSession) => run(on, journal('count')).rows[0]?.n

  beforeEach(() => {
    const postgres = createSimulatedPostgres()
    expired = []
    const observer = { onExpired: (_table: string, count: number) => expired.push(count) }
    session = new PostgresSession(postgres, observer)
    other = new PostgresSession(postgres, observer)
    run(session, 'BEGIN')
    run(session, journal('attachPartition', PARTITION, 0, 100))
    run(session, 'COMMIT')
    run(session, journal('insert', ['body']), [
      [1, 2, 3],
      ['a', 'b', 'c'],
    ])
  })

  it.each([
    ['a dropped partition', journal('dropPartition', PARTITION), [], 3],
    ['deleted rows', journal('deleteBefore', PARTITION, 'time'), [3], 2],
  ])('shows %s to others after its COMMIT', (_, statement, values, count) => {
    run(session, 'BEGIN')
    expect(run(session, statement, values).rowCount).toBe(count)
    expect(countRows(other)).toBe('3')
    expect(expired).toEqual([])
    run(session, 'COMMIT')
    expect(countRows(other)).toBe(String(3 - count))
    expect(expired).toEqual([count])
  })

  it('keeps the rows of a dropped partition after a ROLLBACK', () => {
    run(session, 'BEGIN')
    run(session, journal('dropPartition', PARTITION))
    run(session, 'ROLLBACK')
    expect(countRows(other)).toBe('3')
    expect(run(other, journal('selectPartitions')).rows).toHaveLength(1)
    expect(expired).not.toContain(3)
  })
})
