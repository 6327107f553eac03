import type { FileHandle } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { DeadLetter } from '../../records/src/dead-letter.js'
import type { DeadLetterStore } from '../src/dead-letter-store.js'
import { Disk } from '../src/files/disk.js'
import { filesStore } from '../src/files/index.js'
import { at, letter } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk that fails a number of operations, beginning with one of them. */
class FaultyDisk extends Disk {
  private count = 0
  private from = Number.POSITIVE_INFINITY
  private to = Number.POSITIVE_INFINITY
  private readonly code: string

  constructor(code: string) {
    super()
    this.code = code
  }

  failFrom(from: number, times: number): void {
    this.count = 0
    this.from = from
    this.to = from + times
  }

  /** The number of operations since the faults were configured. */
  get operations(): number {
    return this.count
  }

  private fault(): void {
    const number = this.count++
    if (number >= this.from && number < this.to)
      throw Object.assign(new Error(`${this.code}: injected`), { code: this.code })
  }

  override async makeFolder(path: string): Promise<void> {
    this.fault()
    return super.makeFolder(path)
  }
  /** Fails before anything is written, in the middle, or after the file is in place. */
  override async replace(path: string, content: string | Uint8Array): Promise<void> {
    this.fault()
    await super.replace(path, content)
    this.fault()
  }
  override async append(path: string, lines: string): Promise<void> {
    this.fault()
    return super.append(path, lines)
  }
  override async overwrite(path: string, offset: number, text: string): Promise<void> {
    this.fault()
    return super.overwrite(path, offset, text)
  }
  protected override async write(
    file: FileHandle,
    content: string | Uint8Array,
    offset?: number,
  ): Promise<void> {
    const bytes = Buffer.from(content)
    await super.write(file, bytes.subarray(0, bytes.length >> 1), offset)
    this.fault()
    await super.write(
      file,
      bytes.subarray(bytes.length >> 1),
      offset === undefined ? offset : offset + (bytes.length >> 1),
    )
  }
  override async syncFolder(path: string): Promise<void> {
    this.fault()
    return super.syncFolder(path)
  }
  override async read(path: string): Promise<Buffer | undefined> {
    this.fault()
    return super.read(path)
  }
  override async remove(path: string): Promise<void> {
    this.fault()
    return super.remove(path)
  }
  override async move(from: string, to: string): Promise<void> {
    this.fault()
    return super.move(from, to)
  }
}

/** The acknowledged changes, whose promises resolved. */
interface Acknowledged {
  added: Set<string>
  completed: Set<string>
  purged: Set<string>
  /** The rejected changes, which may have been made nevertheless. */
  unsure: Set<string>
}

/** Adds, leases, settles, completes and purges entries, and records the acknowledged changes. */
async function work(dlq: DeadLetterStore): Promise<Acknowledged> {
  const known: Acknowledged = { added: new Set(), completed: new Set(), purged: new Set(), unsure: new Set() }
  const tried = (id: string, set: Set<string>, doing: Promise<unknown>) =>
    doing.then(
      (result) => void (result !== undefined && set.add(id)),
      () => void known.unsure.add(id),
    )
  await Promise.all([1, 2, 3].map((n) => tried(`dlq_${n}`, known.added, dlq.add([letter(n)], NO_LIMIT))))
  await tried('dlq_4', known.added, dlq.add([letter(4, { operationType: 'other' })], NO_LIMIT))
  await dlq.lease('dlq_1', 'me', at(20), at(10)).catch(() => {})
  await tried('dlq_1', known.completed, dlq.settle('dlq_1', 'me', { status: 'completed', at: at(11) }))
  await dlq.leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(20), at(10)).catch(() => {})
  await dlq.settle('dlq_2', 'me', { status: 'failed', at: at(11) }).catch(() => {})
  await tried('dlq_3', known.completed, dlq.complete('dlq_3', at(12)))
  await dlq.purge({ ids: ['dlq_3'] }, at(13)).then(
    (gone) => void (gone > 0 && known.purged.add('dlq_3')),
    () => void known.unsure.add('dlq_3'),
  )
  return known
}

/** Checks the invariants of a queue after the disk works again. */
async function check(dlq: DeadLetterStore, known: Acknowledged): Promise<void> {
  const now = at(1000)
  const listed = (await dlq.list({ limit: 100 }, now)).items
  const byId = new Map(listed.map((entry): [string, DeadLetter] => [entry.dlqId, entry]))
  expect(byId.size).toBe(listed.length)
  expect((await dlq.stats(now)).total).toBe(listed.length)
  for (const id of known.added)
    if (!known.purged.has(id) && !(id === 'dlq_3' && known.unsure.has(id)))
      expect(byId.has(id), `${id} is lost`).toBe(true)
  for (const id of known.purged) expect(byId.has(id), `${id} came back`).toBe(false)
  for (const id of known.completed) {
    expect(await dlq.isProcessed(id), `${id} is not processed`).toBe(true)
    if (byId.has(id)) expect(byId.get(id)?.status).toBe('completed')
  }
  // After a rejection the entry and the list of processed ids agree.
  for (const [id, { status }] of byId) expect(await dlq.isProcessed(id)).toBe(status === 'completed')
}

/** Replays all pending entries, so that none is stuck. */
async function replayAll(dlq: DeadLetterStore): Promise<void> {
  const now = at(2000)
  const leased = await dlq.leaseNext({ statuses: ['pending', 'failed'], limit: 100 }, 'you', at(3000), now)
  for (const { dlqId } of leased)
    expect(await dlq.settle(dlqId, 'you', { status: 'completed', at: now })).toMatchObject({
      status: 'completed',
    })
  const { byStatus } = await dlq.stats(now)
  expect(byStatus).toMatchObject({ pending: 0, replaying: 0, failed: 0 })
}

describe.each([
  ['once', 1],
  ['five times', 5],
  ['until it is repaired', Number.POSITIVE_INFINITY],
])('a files store on a disk that fails %s', (_, times) => {
  it('loses no acknowledged entry and leaves none stuck, whichever disk operation fails first', async () => {
    let operations = 1
    for (let from = 0; from < operations; from++) {
      const dir = await tempFolder()
      const disk = new FaultyDisk(from % 2 === 0 ? 'EIO' : 'ENOSPC')
      const store = filesStore(dir, { disk, warn: () => {} })
      await store.open()
      disk.failFrom(from, times)
      const known = await work(store.deadLetters)
      if (disk.operations > operations && times === 1) operations = Math.min(120, disk.operations)
      if (times !== 1) operations = 60
      disk.failFrom(Number.POSITIVE_INFINITY, 0)
      const where = `from operation ${from}`
      await expect(check(store.deadLetters, known), where).resolves.toBeUndefined()
      // Another process reads the same entries, and none is stuck.
      const other = filesStore(dir, { warn: () => {} })
      await other.open()
      await expect(check(other.deadLetters, known), `${where}, elsewhere`).resolves.toBeUndefined()
      await expect(replayAll(other.deadLetters), `${where}, elsewhere`).resolves.toBeUndefined()
      expect((await store.deadLetters.stats(at(2000))).byStatus.pending).toBe(0)
      await other.close()
      await store.close()
    }
  })
})
