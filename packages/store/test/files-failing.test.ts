import type { FileHandle } from 'node:fs/promises'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Disk } from '../src/files/disk.js'
import { filesStore } from '../src/files/index.js'
import { at, event, letter, storedBreaker } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk with a number of free bytes. A larger write fills the disk and fails. */
class SmallDisk extends Disk {
  left = Number.POSITIVE_INFINITY
  code = 'ENOSPC'

  protected override async write(
    file: FileHandle,
    content: string | Uint8Array,
    offset?: number,
  ): Promise<void> {
    const bytes = Buffer.from(content)
    const fits = bytes.subarray(0, Math.max(0, this.left))
    await super.write(file, fits, offset)
    this.left -= fits.length
    if (fits.length < bytes.length)
      throw Object.assign(new Error(`${this.code}: cannot write`), { code: this.code })
  }
}

async function small() {
  const dir = await tempFolder()
  const disk = new SmallDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { dir, disk, store, dlq: store.deadLetters }
}

const full = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the disk is full') as string }

describe('a full disk', () => {
  it('rejects entries, keeps acknowledged ones, and accepts more when there is space', async () => {
    const { disk, dlq, dir } = await small()
    await dlq.add([letter(1), letter(2)], NO_LIMIT)
    for (const left of [0, 1, 100, 500]) {
      disk.left = left
      await expect(dlq.add([letter(3)], NO_LIMIT)).rejects.toMatchObject(full)
      await expect(dlq.add([letter(4, { operationType: 'another' })], NO_LIMIT)).rejects.toMatchObject(full)
      disk.left = left
      await expect(dlq.lease('dlq_1', 'me', at(20), at(10))).rejects.toMatchObject(full)
      expect((await dlq.list(undefined, at(10))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_1', 'dlq_2'])
      expect((await dlq.stats(at(10))).byStatus.pending).toBe(2)
    }
    const other = filesStore(dir)
    await other.open()
    expect((await other.deadLetters.list(undefined, at(10))).items).toHaveLength(2)
    await other.close()
    disk.left = Number.POSITIVE_INFINITY
    expect(await dlq.add([letter(3)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await dlq.lease('dlq_1', 'me', at(20), at(10))).toMatchObject({ result: 'leased' })
  })

  it('fails only those calls of a batch for which there is no space', async () => {
    const { disk, dlq } = await small()
    const big = letter(1, { originalPayload: 'x'.repeat(5000) })
    disk.left = 4000
    const [one, two] = await Promise.allSettled([dlq.add([big], NO_LIMIT), dlq.add([letter(2)], NO_LIMIT)])
    expect(one.status).toBe('rejected')
    disk.left = Number.POSITIVE_INFINITY
    const ids = (await dlq.list(undefined, at(10))).items.map(({ dlqId }) => dlqId)
    expect(ids).toEqual(two.status === 'fulfilled' ? ['dlq_2'] : [])
  })

  it('never records an entry as completed that it could not write, and none twice', async () => {
    const { disk, dlq } = await small()
    await dlq.add([letter(1)], NO_LIMIT)
    let completed = 0
    for (let left = 0; left < 1500; left += 50) {
      disk.left = left
      await dlq.lease('dlq_1', 'me', at(20), at(10)).catch(() => {})
      const settled = await dlq
        .settle('dlq_1', 'me', { status: 'completed', at: at(11) })
        .catch(() => undefined)
      if (settled !== undefined) completed++
    }
    disk.left = Number.POSITIVE_INFINITY
    await dlq.settle('dlq_1', 'me', { status: 'completed', at: at(11) })
    expect(completed).toBeLessThanOrEqual(1)
    expect(await dlq.get('dlq_1', at(12))).toMatchObject({ status: 'completed' })
    expect(await dlq.isProcessed('dlq_1')).toBe(true)
  })

  it('leaves no partial line in a journal', async () => {
    const { disk, store } = await small()
    await store.events.append([event(1)])
    for (const left of [0, 10, 300]) {
      disk.left = left
      await expect(store.events.append([event(2), event(3)])).rejects.toMatchObject(full)
      expect((await store.events.list()).items).toEqual([event(1)])
    }
    disk.left = Number.POSITIVE_INFINITY
    await store.events.append([event(4)])
    expect((await store.events.list()).items).toEqual([event(4), event(1)])
    expect(await store.events.count()).toBe(2)
  })

  it('does not change tables', async () => {
    const { disk, store } = await small()
    await store.values.set('k', 1)
    await store.breakers.save([storedBreaker('a')])
    disk.left = 5
    await expect(store.values.set('k', 2)).rejects.toMatchObject(full)
    await expect(store.breakers.save([storedBreaker('b')])).rejects.toMatchObject(full)
    await expect(store.layers.append({ version: 1, by: 'a', at: at(1), layer: 1 }, 0)).rejects.toMatchObject(
      full,
    )
    const row = { series: 'minute:total', start: 0, node: 'n', data: 1 }
    await expect(store.metrics.save([row])).rejects.toMatchObject(full)
    expect(await store.values.get('k')).toBe(1)
    expect(await store.breakers.load()).toHaveLength(1)
    expect(await store.layers.latest()).toBeUndefined()
    expect(await store.metrics.load({ from: 0, to: 1 })).toEqual([])
  })
})

describe('a folder that cannot be used', () => {
  it('is reported as read-only, and its records can be read', async () => {
    const { disk, dlq } = await small()
    await dlq.add([letter(1)], NO_LIMIT)
    disk.left = 0
    disk.code = 'EROFS'
    await expect(dlq.add([letter(2)], NO_LIMIT)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('read-only') as string,
    })
    expect(await dlq.get('dlq_1', at(2))).toBeDefined()
  })

  it('is reported if a file is in its place', async () => {
    const dir = await tempFolder()
    await writeFile(join(dir, 'file'), '')
    const error: unknown = await filesStore(join(dir, 'file/store'))
      .open()
      .catch((failure: unknown) => failure)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('a file is in the place of a folder') as string,
    })
  })

  it('is reported with the path of a damaged table, without its content', async () => {
    const { dir, store } = await small()
    await writeFile(join(dir, 'values.json'), '{"token": hunter2')
    for (const work of [() => store.values.get('token'), () => store.values.set('token', 1)]) {
      const error = (await work().catch((failure: unknown) => failure)) as Error
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(error.message).toContain('values.json is not valid JSON')
      expect(inspect(error)).not.toContain('hunter2')
    }
    expect(await readFile(join(dir, 'values.json'), 'utf8')).toContain('hunter2')
  })
})
