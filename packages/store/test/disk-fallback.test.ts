import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { DeadLetter } from '../../records/src/dead-letter.js'
import type { DeadLetterStore } from '../src/dead-letter-store.js'
import { KeyRing } from '../src/key-ring.js'
import { openStore } from '../src/open/open-store.js'
import { isSamePayload } from '../src/payload.js'
import { DiskFallback } from '../src/postgres/disk-fallback.js'
import { at, letter } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk fallback with a database in memory, and all requests to the database. */
async function spillOf(over: Partial<DeadLetterStore> = {}) {
  const { deadLetters } = await openStore('memory')
  const asked: string[] = []
  const aliases = new Map<string, string>()
  const said: string[] = []
  const clock = fakeClock()
  const dir = await tempFolder()
  const lastDeleted: { at?: Date } = {}
  const queue: DeadLetterStore = {
    ...deadLetters,
    add: (entries, limits) => (asked.push('add'), deadLetters.add(entries, limits)),
    ...over,
  }
  const target = {
    add: queue.add,
    async processed(ids: readonly string[]) {
      asked.push('processed')
      const done = await Promise.all(ids.map((id) => deadLetters.isProcessed(id)))
      return new Set(ids.filter((_, i) => done[i]))
    },
    lastDeletedCompletion: async () => lastDeleted.at,
    async alias(pairs: ReadonlyMap<string, string>) {
      for (const [id, of] of pairs) aliases.set(id, of)
    },
  }
  const make = (databaseName = 'db:5432/app, schema holdfast') =>
    new DiskFallback({ dir, databaseName, target, clock, warn: (line) => said.push(line) })
  const spill = make()
  onTestFinished(() => spill.close())
  const moved = async () => (await deadLetters.list({ limit: 5000 }, at(9))).items
  return { deadLetters, asked, aliases, lastDeleted, said, clock, dir, spill, make, moved }
}

describe('a disk fallback', () => {
  it('moves entries that were added during a move', async () => {
    const moved: string[] = []
    let asked = () => {}
    let answer = () => {}
    const begun = new Promise<void>((resolve) => {
      asked = resolve
    })
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { spill, clock } = await spillOf({
      add: async (entries: readonly DeadLetter[]) => {
        asked()
        await answered
        moved.push(...entries.map(({ dlqId }) => dlqId))
        return entries.map((entry) => ({ result: 'added' as const, entry }))
      },
    })
    await spill.add([letter(1)], NO_LIMIT)
    await clock.advance(250)
    await begun
    await spill.add([letter(2)], NO_LIMIT)
    // The next move is due, and the database has not replied yet.
    await clock.advance(250)
    answer()
    for (let turn = 0; turn < 500 && moved.length < 2; turn++) {
      await readdir('.')
      await clock.advance(250)
    }
    expect(moved).toEqual(['dlq_1', 'dlq_2'])
  })

  it('moves its entries in batches before it is closed', async () => {
    const { spill, asked, moved } = await spillOf()
    await spill.add(
      Array.from({ length: 600 }, (_, n) => letter(n)),
      NO_LIMIT,
    )
    await spill.close()
    expect(await moved()).toHaveLength(600)
    expect(asked.length).toBeLessThan(20)
  })

  it('does not move an entry whose processed id may have been deleted', async () => {
    const { spill, clock, lastDeleted, moved, said } = await spillOf()
    const days = (count: number) => new Date(clock.wall() + count * 86_400_000)
    const entryOf = (n: number, createdAt: Date) => letter(n, { createdAt, lastAttempt: createdAt })
    await spill.add([entryOf(1, days(-70)), entryOf(2, days(-50)), entryOf(3, days(0))], NO_LIMIT)
    lastDeleted.at = days(-60)
    await spill.move()
    expect((await moved()).map(({ dlqId }) => dlqId)).toEqual(['dlq_2', 'dlq_3'])
    expect(await spill.get('dlq_1')).toBeUndefined()
    expect(said.join()).toContain('older than dead_letters.max_age: dlq_1')
  })

  it('moves a new entry even if ids of a clock that was ahead were deleted', async () => {
    const { spill, clock, lastDeleted, moved } = await spillOf()
    const now = new Date(clock.wall())
    await spill.add([letter(1, { createdAt: now, lastAttempt: now })], NO_LIMIT)
    lastDeleted.at = new Date(clock.wall() + 365 * 86_400_000)
    await spill.move()
    expect(await moved()).toHaveLength(1)
  })

  it('keeps its entries when it is closed while the database is not available', async () => {
    const { spill, make, moved, deadLetters } = await spillOf({
      add: () => Promise.reject(new Error('down')),
    })
    await spill.add([letter(1)], NO_LIMIT)
    await spill.close()
    expect(await moved()).toEqual([])
    const next = make()
    onTestFinished(() => next.close())
    next.resume()
    expect(await next.get('dlq_1')).toMatchObject({ dlqId: 'dlq_1' })
    expect(await deadLetters.get('dlq_1', at(9))).toBeUndefined()
  })

  it('is readable by its owner only', async () => {
    const { spill, dir } = await spillOf({ add: () => Promise.reject(new Error('down')) })
    await spill.add([letter(1)], NO_LIMIT)
    const names = await readdir(dir, { recursive: true })
    expect(names).toContain('store.txt')
    for (const name of names) {
      const found = await stat(join(dir, name))
      expect((found.mode & 0o777).toString(8), name).toBe(found.isDirectory() ? '700' : '600')
    }
  })

  it('rejects a folder with entries of another database', async () => {
    const { spill, make, moved, dir } = await spillOf()
    await writeFile(join(dir, 'store.txt'), 'db:5432/other, schema holdfast')
    await expect(spill.add([letter(1)], NO_LIMIT)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('db:5432/other, schema holdfast') as string,
    })
    const other = make('db:5432/other, schema holdfast')
    await other.add([letter(2)], NO_LIMIT)
    await other.close()
    expect(await moved()).toMatchObject([{ dlqId: 'dlq_2' }])
  })

  it('keeps both entries if another operation uses the same key and payload', async () => {
    const { spill, deadLetters, moved, aliases } = await spillOf()
    const same = { idempotencyKey: 'same', originalPayload: 'x' }
    await deadLetters.add([letter(1, { ...same, operationType: 'read' })], NO_LIMIT)
    await spill.add([letter(2, { ...same, operationType: 'write' })], NO_LIMIT)
    await spill.close()
    expect((await moved()).map(({ dlqId, idempotencyKey }) => [dlqId, idempotencyKey])).toEqual([
      ['dlq_1', 'same'],
      ['dlq_2', 'same~dlq_2'],
    ])
    expect(aliases.size).toBe(0)
  })
})

describe('a disk fallback with encrypted payloads', () => {
  const keys = new KeyRing('a'.repeat(64))
  const sealed = (n: number, payload: unknown) =>
    letter(n, { idempotencyKey: 'same', originalPayload: keys.encrypt(payload, `dlq_${n}`) })
  const open = ({ originalPayload, dlqId }: DeadLetter) => keys.decrypt(originalPayload, dlqId)
  const compare = (a: DeadLetter, b: DeadLetter) => isSamePayload(open(a), open(b))

  it('stores an entry once if the database has the same key and payload', async () => {
    const { spill, deadLetters, moved, aliases } = await spillOf()
    spill.compareWith(compare)
    await deadLetters.add([sealed(1, { a: 1, b: 2 })], NO_LIMIT)
    await spill.add([sealed(2, { b: 2, a: 1 })], NO_LIMIT)
    await spill.close()
    expect(await moved()).toMatchObject([{ dlqId: 'dlq_1', idempotencyKey: 'same' }])
    expect([...aliases]).toEqual([['dlq_2', 'dlq_1']])
  })

  it('keeps both entries if the payloads differ', async () => {
    const { spill, deadLetters, moved } = await spillOf()
    spill.compareWith(compare)
    await deadLetters.add([sealed(1, { a: 1 })], NO_LIMIT)
    await spill.add([sealed(2, { a: 2 })], NO_LIMIT)
    await spill.close()
    expect((await moved()).map(({ idempotencyKey }) => idempotencyKey)).toEqual(['same', 'same~dlq_2'])
  })

  it('keeps an entry until its payload can be compared', async () => {
    const { spill, make, deadLetters, moved, said } = await spillOf()
    await deadLetters.add([sealed(1, { a: 1 })], NO_LIMIT)
    await spill.add([sealed(2, { a: 1 }), letter(3)], NO_LIMIT)
    await spill.move()
    expect((await moved()).map(({ dlqId }) => dlqId)).toEqual(['dlq_1', 'dlq_3'])
    expect(await spill.get('dlq_2')).toBeDefined()
    spill.compareWith(() => {
      throw new Error('the key 2025 is not at hand')
    })
    await spill.move()
    await spill.move()
    expect(await spill.get('dlq_2')).toBeDefined()
    expect(said.filter((line) => line.includes('the key 2025 is not at hand'))).toHaveLength(1)
    await spill.close()
    const next = make()
    onTestFinished(() => next.close())
    next.compareWith(compare)
    await next.move()
    expect(await next.get('dlq_2')).toBeUndefined()
    expect(await moved()).toHaveLength(2)
  })
})
