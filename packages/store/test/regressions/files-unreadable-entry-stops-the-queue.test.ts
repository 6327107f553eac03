import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk that cannot read the files with some names. */
class UnreadableDisk extends Disk {
  readonly unreadable = new Map<string, string>()

  override async read(path: string): Promise<Buffer | undefined> {
    for (const [name, code] of this.unreadable)
      if (path.endsWith(`/${name}`)) throw Object.assign(new Error(`${code}: injected`), { code })
    return super.read(path)
  }
}

async function openStore(dir: string, disk = new UnreadableDisk()) {
  const warnings: string[] = []
  const store = filesStore(dir, { disk, warn: (line) => warnings.push(line) })
  await store.open()
  onTestFinished(() => store.close())
  const dlq = store.deadLetters
  const listed = async () => (await dlq.list(undefined, at(9))).items.map(({ dlqId }) => dlqId)
  return { store, disk, warnings, dlq, listed }
}

describe.each(['EACCES', 'EPERM', 'EISDIR', 'EIO'])('a file of a dead letter that fails with %s', (code) => {
  it('is ignored with one warning when the store opens, until it can be read', async () => {
    const dir = await tempFolder()
    const first = await openStore(dir)
    await first.dlq.add([letter(1), letter(2)], NO_LIMIT)
    await first.store.close()
    const disk = new UnreadableDisk()
    disk.unreadable.set('dlq_1.json', code)
    const { dlq, listed, warnings } = await openStore(dir, disk)
    expect(await listed()).toEqual(['dlq_2'])
    expect(await dlq.add([letter(3)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect((await dlq.leaseNext({ statuses: ['pending'], limit: 9 }, 'me', at(20), at(9))).length).toBe(2)
    expect(warnings).toEqual([expect.stringMatching(/dlq_1\.json is ignored until it can be read/)])
    disk.unreadable.clear()
    expect(await listed()).toEqual(['dlq_1', 'dlq_2', 'dlq_3'])
  })

  it('is not added again under its id', async () => {
    const dir = await tempFolder()
    const first = await openStore(dir)
    await first.dlq.add([letter(1)], NO_LIMIT)
    await first.store.close()
    const disk = new UnreadableDisk()
    disk.unreadable.set('dlq_1.json', code)
    const { dlq, listed } = await openStore(dir, disk)
    const [same, other] = await Promise.allSettled([
      dlq.add([letter(1)], NO_LIMIT),
      dlq.add([letter(2)], NO_LIMIT),
    ])
    expect(same).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
    expect(other).toMatchObject({ status: 'fulfilled', value: [{ result: 'added' }] })
    disk.unreadable.clear()
    expect(await listed()).toEqual(['dlq_1', 'dlq_2'])
  })

  it('leaves no leases of other entries if it fails a call that leases several', async () => {
    const { dlq, disk } = await openStore(await tempFolder())
    await dlq.add([letter(1), letter(2), letter(3)], NO_LIMIT)
    disk.unreadable.set('dlq_2.json', code)
    const lease = () => dlq.leaseNext({ statuses: ['pending'], limit: 9 }, 'me', at(20), at(9))
    await expect(lease()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect((await lease()).map(({ dlqId }) => dlqId)).toEqual(['dlq_1', 'dlq_3'])
  })

  it('leaves no entries of a call that adds several if it fails the call', async () => {
    const { dlq, disk, listed } = await openStore(await tempFolder())
    await dlq.add([letter(1)], NO_LIMIT)
    disk.unreadable.set('dlq_1.json', code)
    const duplicate = letter(9, { idempotencyKey: letter(1).idempotencyKey })
    await expect(dlq.add([letter(2), duplicate], NO_LIMIT)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    disk.unreadable.clear()
    expect(await listed()).toEqual(['dlq_1'])
  })

  it('fails only the calls that need its entry while the store is open', async () => {
    const { dlq, disk, listed } = await openStore(await tempFolder())
    await dlq.add([letter(1), letter(2)], NO_LIMIT)
    disk.unreadable.set('dlq_1.json', code)
    const [sameKey, completed, added] = await Promise.allSettled([
      dlq.add([letter(9, { idempotencyKey: letter(1).idempotencyKey })], NO_LIMIT),
      dlq.complete('dlq_1', at(3)),
      dlq.add([letter(3)], NO_LIMIT),
    ])
    expect(sameKey).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
    expect(completed).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
    expect(added).toMatchObject({ status: 'fulfilled', value: [{ result: 'added' }] })
    expect(await listed()).toEqual(['dlq_2', 'dlq_3'])
    await expect(dlq.get('dlq_1', at(9))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    disk.unreadable.clear()
    expect(await dlq.complete('dlq_1', at(4))).toMatchObject({ status: 'completed' })
  })
})

it('reads the file of a dead letter again after the disk has failed to read it', async () => {
  const dir = await tempFolder()
  const first = await openStore(dir)
  await first.dlq.add([letter(1)], NO_LIMIT)
  await first.store.close()
  let failures = 2
  class FlakyDisk extends UnreadableDisk {
    override async read(path: string): Promise<Buffer | undefined> {
      if (path.endsWith('dlq_1.json') && failures-- > 0)
        throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
      return super.read(path)
    }
  }
  const { listed, warnings } = await openStore(dir, new FlakyDisk())
  expect(await listed()).toEqual(['dlq_1'])
  expect(warnings).toEqual([])
})

it('ignores a folder that is named like the file of a dead letter', async () => {
  const dir = await tempFolder()
  await mkdir(join(dir, 'dlq', 'gmail_fetch', 'dlq_1.json'), { recursive: true })
  await mkdir(join(dir, 'dlq', 'gmail_fetch', '.unfinished-1'))
  const { dlq, listed } = await openStore(dir)
  expect(await dlq.add([letter(1)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
  expect(await listed()).toEqual(['dlq_1'])
})
