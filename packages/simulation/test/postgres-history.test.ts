import { afterEach, describe, expect, it, vi } from 'vitest'
import { PostgresDatabase } from '../../store/src/postgres/database.js'
import { runPostgresHistory } from '../src/postgres-history/postgres-history.js'

afterEach(() => vi.restoreAllMocks())

/** The first violation of some seeds. */
async function findViolation(): Promise<string> {
  for (let seed = 1; seed <= 10; seed++) {
    const found = await runPostgresHistory(seed)
    if (found !== undefined) return found.message
  }
  return ''
}

describe('a history of live changes in PostgreSQL', () => {
  it('finds no violation', async () => {
    expect(await findViolation()).toBe('')
  })

  it('depends on its seed alone', async () => {
    const record = async () => {
      const lines: string[] = []
      await runPostgresHistory(3, (at, subject, text) => lines.push(`${at} ${subject} ${text}`))
      return lines
    }
    const lines = await record()
    expect(lines.length).toBeGreaterThan(40)
    expect(await record()).toEqual(lines)
  })

  it('reports transactions that are repeated although they were committed', async () => {
    const { write } = PostgresDatabase.prototype
    vi.spyOn(PostgresDatabase.prototype, 'write').mockImplementation(function <T>(
      this: PostgresDatabase,
      work: Parameters<typeof write<T>>[0],
    ) {
      return write.call(this, work) as Promise<T>
    })
    expect(await findViolation()).toContain('the store returned false for append')
  })
})
