import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryJournal } from '../../store/src/memory/journal.js'
import { SqliteConnection } from '../../store/src/sqlite/connection.js'
import { WriteQueue } from '../../store/src/sqlite/write-queue.js'
import { runMemoryHistory } from '../src/sqlite/memory-history.js'
import { runSqliteHistory } from '../src/sqlite/sqlite-history.js'
import { runTurnHistory } from '../src/sqlite/turn-history.js'

afterEach(() => vi.restoreAllMocks())

/** The first violation of some seeds. */
async function findViolation(run: typeof runSqliteHistory): Promise<string> {
  for (let seed = 1; seed <= 10; seed++) {
    const found = await run(seed)
    if (found !== undefined) return found.message
  }
  return ''
}

describe('a history of a SQLite store', () => {
  it('finds no violation', async () => {
    expect(await findViolation(runSqliteHistory)).toBe('')
  })

  it('depends on its seed alone', async () => {
    const record = async () => {
      const lines: string[] = []
      await runSqliteHistory(3, (at, subject, text) => lines.push(`${at} ${subject} ${text}`))
      return lines
    }
    const lines = await record()
    expect(lines.length).toBeGreaterThan(100)
    expect(await record()).toEqual(lines)
  })

  it('reports dead letters that are acknowledged before they are flushed', async () => {
    vi.spyOn(WriteQueue.prototype, 'write').mockImplementation(function <T>(this: WriteQueue, work: () => T) {
      return this.writeUnflushed(work)
    })
    expect(await findViolation(runSqliteHistory)).toContain('not flushed')
  })

  it('reports transactions that are not rolled back', async () => {
    vi.spyOn(SqliteConnection.prototype as unknown as { rollBack(): void }, 'rollBack').mockImplementation(
      () => {},
    )
    expect(await findViolation(runSqliteHistory)).not.toBe('')
  })
})

describe('a history of changes and reads in one turn', () => {
  it('finds no violation', async () => {
    expect(await findViolation(runTurnHistory)).toBe('')
  })

  it('reports reads that do not wait for the changes before them', async () => {
    vi.spyOn(WriteQueue.prototype, 'flush').mockResolvedValue()
    expect(await findViolation(runTurnHistory)).toContain('does not see the changes before it')
  })
})

describe('a history of a store in memory', () => {
  it('finds no violation', async () => {
    expect(await findViolation(runMemoryHistory)).toBe('')
  })

  it('reports records that are not deleted', async () => {
    vi.spyOn(MemoryJournal.prototype, 'expire').mockResolvedValue(0)
    expect(await findViolation(runMemoryHistory)).toContain('expire')
  })
})
