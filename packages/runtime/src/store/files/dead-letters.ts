import type { DeadLetter } from '../../records/dead-letter.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { queryOf } from '../dead-letter-index.js'
import { completedAt, isHeld, leasedTo, seenAt, settledTo } from '../dead-letter-rules.js'
import type { Place } from '../ordered.js'
import { samePayload } from '../payload.js'
import type { Added, DeadLetterStore, Leased, Settlement } from '../store.js'
import { Batches } from './batches.js'
import { type Disk, unavailable } from './disk.js'
import { Entries, type FileSlot } from './entries.js'
import type { Lock } from './lock.js'
import { Turn } from './turn.js'

type Work = (turn: Turn) => Promise<unknown>

/** Dead letters, an entry a file, for any number of processes. */
export class FilesDeadLetters implements DeadLetterStore {
  private readonly entries: Entries
  private readonly batches: Batches<Work, unknown>
  private readonly disk: Disk
  private readonly lock: Lock
  private readonly root: string

  constructor(disk: Disk, lock: Lock, root: string, warn: (line: string) => void) {
    this.disk = disk
    this.lock = lock
    this.root = root
    this.entries = new Entries(disk, root, warn)
    this.batches = new Batches((works) => this.guarded(() => lock.hold(() => this.take(works))))
  }

  async open(): Promise<void> {
    await this.guarded(async () => {
      await this.disk.makeFolder(this.root)
      await this.lock.hold(async () => {
        await this.disk.sweep(this.root)
        await this.entries.changes.catchUp()
      })
      await this.entries.readAhead()
      await this.lock.hold(() => this.entries.refresh())
    })
  }

  idle(): Promise<void> {
    return this.batches.idle()
  }

  private async guarded<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      throw unavailable(this.root, error)
    }
  }

  /** Does a batch of work under the lock. */
  private async take(works: readonly Work[]): Promise<unknown[]> {
    if (!(await this.entries.isFresh())) await this.entries.refresh()
    const turn = new Turn(this.entries)
    const done = []
    for (const work of works) done.push(await turn.record(work))
    await turn.commit()
    return done.map(({ result, touched }) => turn.failureOf(touched) ?? result)
  }

  /** Looking is work as any other: it sees what was done before it, and nothing that is not written in the end. */
  private ask<R>(work: (turn: Turn) => Promise<R>): Promise<R> {
    return this.batches.ask(work) as Promise<R>
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return this.ask(async (turn) => {
      const results: Added[] = []
      for (const entry of entries) results.push(await this.addOne(turn, entry, limits.maxEntries))
      return results
    })
  }

  private async addOne(turn: Turn, entry: DeadLetter, maxEntries: number): Promise<Added> {
    const { index } = this.entries
    const same = index.keyed(entry.idempotencyKey) ?? index.get(entry.dlqId)
    const known = same && (await turn.find(same.id))
    if (known !== undefined)
      return {
        result: samePayload(known.entry.originalPayload, entry.originalPayload) ? 'known' : 'conflict',
        entry: known.entry,
      }
    if (index.open >= maxEntries) return { result: 'full' }
    return { result: 'added', entry: await turn.add(entry) }
  }

  get(id: string, now: Date): Promise<DeadLetter | undefined> {
    return this.ask(async (turn) => {
      const slot = this.entries.index.get(id)
      const entry = slot && (await turn.read(slot))
      return entry && seenAt(entry, now.getTime())
    })
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, newest, after } = readPaging(filter, 'oldest', [0, 0])
    return this.ask(async (turn) => {
      const slots: FileSlot[] = []
      for (const slot of this.entries.index.select(
        queryOf(filter ?? {}),
        now.getTime(),
        newest,
        after as Place,
      )) {
        slots.push(slot)
        if (slots.length > limit) break
      }
      const more = slots.length > limit
      if (more) slots.pop()
      const read = await Promise.all(slots.map((slot) => turn.read(slot)))
      const items = read.flatMap((entry) => (entry === undefined ? [] : seenAt(entry, now.getTime())))
      const last = slots.at(-1)
      return more && last !== undefined
        ? { items, cursor: encodeCursor(newest, [last.at, last.order]) }
        : { items }
    })
  }

  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    return this.ask(async (turn): Promise<Leased> => {
      const found = await turn.find(id)
      if (found === undefined) return { result: 'missing' }
      const { slot, entry } = found
      if (slot.status === 'completed') return { result: 'done', entry }
      if (isHeld(slot, now.getTime())) return { result: 'held', until: new Date(slot.leasedUntil) }
      return { result: 'leased', entry: turn.put(leasedTo(entry, until), slot.order, owner) }
    })
  }

  leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    return this.ask(async (turn) => {
      const slots: FileSlot[] = []
      for (const slot of this.entries.index.select(want, now.getTime(), false)) {
        if (slots.length >= want.limit) break
        if (!want.except?.has(slot.id)) slots.push(slot)
      }
      const leased: DeadLetter[] = []
      for (const slot of slots) {
        const found = await turn.find(slot.id)
        if (found !== undefined) leased.push(turn.put(leasedTo(found.entry, until), slot.order, owner))
      }
      return leased
    })
  }

  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    return this.ask(async (turn) => {
      const found = await turn.find(id)
      if (found?.slot.owner !== owner || !isHeld(found.slot, now.getTime())) return false
      turn.put(leasedTo(found.entry, until), found.slot.order, owner)
      return true
    })
  }

  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    return this.ask(async (turn) => {
      const found = await turn.find(id)
      if (found === undefined || found.slot.status === 'completed') return undefined
      const { slot, entry } = found
      const holds = slot.owner === owner && isHeld(slot, settlement.at.getTime())
      if (!holds && settlement.status !== 'completed') return undefined
      return turn.put(settledTo(entry, settlement), slot.order)
    })
  }

  complete(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.ask(async (turn) => {
      const found = await turn.find(id)
      if (found === undefined || found.slot.status === 'completed') return found?.entry
      return turn.put(completedAt(found.entry, at), found.slot.order)
    })
  }

  request(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.ask(async (turn) => {
      const found = await turn.find(id)
      if (found === undefined || found.slot.status === 'completed') return found?.entry
      return turn.put({ ...found.entry, replayRequestedAt: at }, found.slot.order, found.slot.owner)
    })
  }

  isProcessed(id: string): Promise<boolean> {
    return this.ask(
      async () => this.entries.processed.has(id) || this.entries.index.get(id)?.status === 'completed',
    )
  }

  purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    return this.ask(async (turn) => {
      const limit = filter.limit ?? Number.POSITIVE_INFINITY
      const gone: FileSlot[] = []
      for (const slot of this.entries.index.select(queryOf(filter), now.getTime(), false)) {
        if (gone.length >= limit) break
        if (!isHeld(slot, now.getTime())) gone.push(slot)
      }
      for (const slot of gone) turn.remove(slot)
      return gone.length
    })
  }

  stats(now: Date) {
    return this.ask(async () => this.entries.index.stats(now.getTime()))
  }

  rewrite(id: string, payload: unknown): Promise<void> {
    return this.ask(async (turn) => {
      const found = await turn.find(id)
      if (found !== undefined)
        turn.put({ ...found.entry, originalPayload: payload }, found.slot.order, found.slot.owner)
    })
  }
}
