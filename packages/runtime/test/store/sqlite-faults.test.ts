import { copyFile, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Store } from '../../../store/src/store.js'
import { at, letter } from '../../../store/test/contract/records.js'
import { folder, opened } from '../../../store/test/sqlite-place.js'
import { Holdfast } from '../../src/index.js'

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** A store with entries 1 and 2, and a copy of its file that has only the first. */
async function withBackup() {
  const dir = await folder()
  const [seed, file, backup] = [join(dir, 'seed.db'), join(dir, 'holdfast.db'), join(dir, 'backup.db')]
  // libsql keeps a file open until its statements are collected, also after it was closed.
  const first = await opened(seed)
  await first.deadLetters.add([letter(1)], NO_LIMIT)
  await first.close()
  for (const copy of [file, backup]) await copyFile(seed, copy)
  const store = await opened(file)
  await store.deadLetters.add([letter(2)], NO_LIMIT)
  return { file, backup, store }
}

const idsOf = async (store: Store) =>
  (await store.deadLetters.list(undefined, at(0))).items.map(({ dlqId }) => dlqId)

describe('a SQLite file that is replaced while it is open', () => {
  it('is used by the next write, without the store being opened again', async () => {
    const { file, backup, store } = await withBackup()
    await rename(backup, file)
    expect(await store.deadLetters.add([letter(3)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await idsOf(store)).toEqual([letter(1).dlqId, letter(3).dlqId])
    await store.close()
    expect(await idsOf(await opened(file))).toEqual([letter(1).dlqId, letter(3).dlqId])
  })

  it('is used only when no other store has the old file open, because its log has the same name', async () => {
    const { file, backup, store } = await withBackup()
    const other = await opened(file)
    await other.deadLetters.add([letter(4)], NO_LIMIT)
    await rename(backup, file)
    const refused = store.deadLetters.add([letter(3)], NO_LIMIT)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow(`${file}-wal and ${file}-shm`)
    await expect(idsOf(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  it('loses no write that was acknowledged, whichever of two stores closes first', async () => {
    const { file, backup, store } = await withBackup()
    const other = await opened(file)
    await other.deadLetters.add([letter(4)], NO_LIMIT)
    await rename(backup, file)
    const added = [letter(1).dlqId]
    for (let n = 10; n < 20; n++) {
      const one = letter(n)
      await [store, other][n % 2]?.deadLetters.add([one], NO_LIMIT).then(
        () => added.push(one.dlqId),
        (error: unknown) => expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' }),
      )
    }
    await other.close()
    await store.close()
    expect(await idsOf(await opened(file))).toEqual(added)
  })

  it('is used by the next read', async () => {
    const { file, backup, store } = await withBackup()
    await rename(backup, file)
    expect(await idsOf(store)).toEqual([letter(1).dlqId])
  })

  it('is reported if the new file is not a database, and used again when a backup replaces it', async () => {
    const { file, backup, store } = await withBackup()
    await writeFile(`${file}-text`, 'not a database. '.repeat(1000))
    await rename(`${file}-text`, file)
    for (let n = 0; n < 2; n++) {
      const refused = store.deadLetters.add([letter(3)], NO_LIMIT)
      await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(refused).rejects.toThrow('is not a SQLite database, or it is damaged')
    }
    expect(await readFile(file, 'utf8')).toMatch(/^not a database/)
    await rename(backup, file)
    expect(await store.deadLetters.add([letter(3)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await idsOf(store)).toEqual([letter(1).dlqId, letter(3).dlqId])
  })
})

describe('a SQLite file that is deleted while it is open', () => {
  it('is not created again: nothing is acknowledged until a backup replaces it', async () => {
    const { file, backup, store } = await withBackup()
    await rm(file)
    for (let n = 0; n < 2; n++) {
      const refused = store.deadLetters.add([letter(3)], NO_LIMIT)
      await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(refused).rejects.toThrow('was deleted, emptied or moved while it was open')
    }
    await rename(backup, file)
    expect(await store.deadLetters.add([letter(3)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await idsOf(store)).toEqual([letter(1).dlqId, letter(3).dlqId])
  })
})

/** Damages of a file under a store that has it open. */
const DAMAGES: Record<string, (file: string) => Promise<void>> = {
  'whose pages are overwritten': (file) => overwrite(file, 4096, 400_000),
  'that is truncated': (file) => truncate(file, 5000),
  'that is emptied': (file) => truncate(file, 0),
}

async function overwrite(file: string, from: number, length: number): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(length, 0xaa), 0, length, from)
  await handle.close()
}

describe.each(Object.entries(DAMAGES))('a SQLite file %s while it is open', (_, damage) => {
  it('is reported, calls continue, and a backup in its place is used without a restart', async () => {
    const dir = await folder()
    const [file, backup] = [join(dir, 'holdfast.db'), join(dir, 'backup.db')]
    const before = await opened(file)
    for (let n = 0; n < 100; n++)
      await before.deadLetters.add([letter(n, { originalPayload: 'x'.repeat(3000) })], NO_LIMIT)
    await before.close()
    await copyFile(file, backup)

    const warned = vi.spyOn(console, 'error').mockImplementation(() => {})
    const hf = await Holdfast.open({
      config: { policies: { send: { maxAttempts: 1 } } },
      store: `sqlite:${file}`,
    })
    const enqueue = (itemId: string) =>
      hf.deadLetters.enqueue({
        operation: 'send',
        itemId,
        payload: 'x'.repeat(200_000),
        error: new Error('down'),
      })
    await damage(file)
    const down = new Error('down')
    await expect(hf.run('send', () => Promise.reject(down), { payload: { n: 1 } })).rejects.toBe(down)
    expect(await hf.run('send', async () => 1)).toBe(1)
    // What is in its cache lets SQLite go on for a while.
    let refused: unknown
    for (let n = 0; n < 20 && refused === undefined; n++) {
      await enqueue(`damaged-${n}`).catch((error: unknown) => (refused = error))
      await hf.deadLetters.list({ limit: 1000 }).catch((error: unknown) => (refused = error))
    }
    expect(refused).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(String(refused)).toMatch(/damaged|emptied|failed to read or write/)

    await rm(`${file}-wal`, { force: true })
    await rm(`${file}-shm`, { force: true })
    await rename(backup, file)
    await enqueue('after')
    const { items } = await hf.deadLetters.list({ limit: 1000 })
    expect(items.map(({ itemId }) => itemId)).toContain('after')
    expect(items.length).toBeGreaterThanOrEqual(101)
    await hf.close()
    warned.mockRestore()
  })
})
