import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../src/sqlite/index.js'
import { at, letter } from './contract/records.js'
import { smallDisk, unmount } from './small-disk.js'
import { opened } from './sqlite-place.js'

const disk = smallDisk()
const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }
const UNUSABLE = /cannot be (written|opened)/

describe.skipIf(disk === undefined)('a SQLite store on a small disk', () => {
  const dir = disk ?? ''
  afterAll(() => unmount(dir))

  it('reports a full disk, loses no acknowledged entry, and continues when there is space', async () => {
    const file = join(dir, 'full.db')
    const store = await opened(file)
    await writeFile(join(dir, 'ballast'), 'x'.repeat(1_000_000))
    const kept: string[] = []
    let refused: Error | undefined
    for (let n = 0; refused === undefined; n++) {
      const entry = letter(n, { originalPayload: 'x'.repeat(20_000) })
      await store.deadLetters.add([entry], NO_LIMIT).then(
        () => kept.push(entry.dlqId),
        (error: Error) => {
          refused = error
        },
      )
    }
    expect(refused).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(String(refused)).toMatch(/disk is full|disk failed/)
    expect(kept.length).toBeGreaterThan(5)
    for (const id of kept) expect(await store.deadLetters.get(id, at(0))).toBeDefined()

    await rm(join(dir, 'ballast'))
    expect(await store.deadLetters.add([letter(10_000)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    await store.close()
    const again = await opened(file)
    expect((await again.deadLetters.stats(at(0))).total).toBe(kept.length + 1)
    await again.close()
  })

  it('reports that it cannot be written, and continues when it can', async () => {
    const file = join(dir, 'read-only.db')
    await (await opened(file)).close()
    const view = mkdtempSync(join(tmpdir(), 'holdfast-view-'))
    execFileSync('mount', ['--bind', dir, view])
    onTestFinished(() => unmount(view))
    execFileSync('mount', ['-o', 'remount,ro,bind', view])
    const store = openSqlite(join(view, 'read-only.db'))
    const used = store.open().then(() => store.deadLetters.add([letter(1)], NO_LIMIT))
    await expect(used).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(used).rejects.toThrow(UNUSABLE)
    await expect(openSqlite(join(view, 'new', 'a.db')).open()).rejects.toThrow(UNUSABLE)
    await store.close()
    execFileSync('mount', ['-o', 'remount,rw,bind', view])
    await store.open()
    expect(await store.deadLetters.add([letter(1)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    await store.close()
  })
})
