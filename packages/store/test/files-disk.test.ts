import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../src/files/index.js'
import { at, event, letter } from './contract/records.js'
import { smallDisk, unmount } from './small-disk.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

const disk = smallDisk()

describe.skipIf(disk === undefined)('a files store on a small disk', () => {
  const dir = disk ?? ''
  afterAll(() => unmount(dir))

  it('reports a full disk, loses no acknowledged entry, and continues when there is space', async () => {
    const store = filesStore(join(dir, 'full'))
    await store.open()
    await store.events.append([event(0)])
    await writeFile(join(dir, 'ballast'), 'x'.repeat(1_000_000))
    const kept: string[] = []
    let refused: unknown
    for (let n = 0; refused === undefined; n++) {
      const entry = letter(n, { originalPayload: 'x'.repeat(20_000) })
      await store.deadLetters.add([entry], NO_LIMIT).then(
        () => kept.push(entry.dlqId),
        (error: unknown) => {
          refused = error
        },
      )
    }
    expect(refused).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect((refused as Error).message).toContain('the disk is full')
    expect(kept.length).toBeGreaterThan(5)
    await writeFile(join(dir, 'filler'), 'x'.repeat(100_000)).catch(() => {})
    const many = Array.from({ length: 100 }, (_, n) => event(n + 1))
    await expect(store.events.append(many)).rejects.toThrow('the disk is full')
    expect((await store.events.list()).items).toEqual([event(0)])
    expect((await store.deadLetters.list({ limit: 1000 }, at(0))).items.map(({ dlqId }) => dlqId)).toEqual(
      kept,
    )

    await rm(join(dir, 'ballast'))
    expect(await store.deadLetters.add([letter(10_000)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    await store.events.append(many)
    await store.close()
    const again = filesStore(join(dir, 'full'))
    await again.open()
    expect((await again.deadLetters.stats(at(0))).total).toBe(kept.length + 1)
    expect(await again.events.count()).toBe(101)
    expect((await readdir(join(dir, 'full/dlq/gmail_fetch'))).filter((name) => name.startsWith('.'))).toEqual(
      [],
    )
    await again.close()
    await rm(join(dir, 'full'), { recursive: true })
    await rm(join(dir, 'filler'), { force: true })
  })

  it('reports a read-only folder, and continues when it is writable', async () => {
    const place = join(dir, 'read-only')
    const first = filesStore(place)
    await first.open()
    await first.deadLetters.add([letter(1)], NO_LIMIT)
    await first.close()
    const before = await readFile(join(place, 'dlq/gmail_fetch/dlq_1.json'))
    const view = mkdtempSync(join(tmpdir(), 'holdfast-view-'))
    execFileSync('mount', ['--bind', dir, view])
    onTestFinished(() => unmount(view))
    execFileSync('mount', ['-o', 'remount,ro,bind', view])
    const store = filesStore(join(view, 'read-only'))
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(filesStore(join(view, 'new')).open()).rejects.toThrow('the file system is read-only')
    execFileSync('mount', ['-o', 'remount,rw,bind', view])
    await store.open()
    expect(await store.deadLetters.add([letter(2)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await readFile(join(place, 'dlq/gmail_fetch/dlq_1.json'))).toEqual(before)
    await store.close()
  })
})
