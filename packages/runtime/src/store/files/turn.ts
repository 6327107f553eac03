import type { DeadLetter } from '../../records/dead-letter.js'
import { unavailable } from './disk.js'
import { each } from './each.js'
import type { Entries, FileSlot } from './entries.js'
import type { Place } from './place.js'

/** An entry as it is to be written; undefined where its file is to go. */
interface Draft {
  slot: FileSlot
  entry: DeadLetter | undefined
}

/**
 * Changes that are made together, under the lock: decided one after the other on the index, each seeing those before
 * it, then written side by side. An entry that several of them change is written once.
 */
export class Turn {
  private readonly drafts = new Map<string, Draft>()
  private readonly completed: string[] = []
  private readonly failures = new Map<string, unknown>()
  private touched = new Set<string>()
  private readonly taken = new Set<string>()
  readonly entries: Entries

  constructor(entries: Entries) {
    this.entries = entries
  }

  /** Does one piece of work and tells which entries it rests on. */
  async record<R>(work: (turn: Turn) => Promise<R>): Promise<{ result: R; touched: ReadonlySet<string> }> {
    this.touched = new Set()
    const result = await work(this)
    return { result, touched: this.touched }
  }

  /** The entry of an id with its place; undefined where there is none. */
  async find(id: string): Promise<{ slot: FileSlot; entry: DeadLetter } | undefined> {
    const slot = this.entries.index.get(id)
    if (slot === undefined) return undefined
    const entry = await this.read(slot)
    if (entry !== undefined) return { slot, entry }
    this.entries.remove(slot)
    return undefined
  }

  /** The entry at a place, as the work before has left it; undefined where its file has gone. */
  async read(slot: FileSlot): Promise<DeadLetter | undefined> {
    this.touched.add(slot.id)
    return this.drafts.get(slot.id)?.entry ?? this.entries.read(slot)
  }

  /** Adds an entry that is not there yet. */
  async add(entry: DeadLetter): Promise<DeadLetter> {
    const place = await this.entries.reserve(entry, this.taken)
    return this.put(entry, this.entries.nextSequence(), undefined, place)
  }

  put(entry: DeadLetter, sequence: number, owner?: string, reserved?: Place): DeadLetter {
    const slot = this.entries.put(entry, sequence, owner, reserved)
    this.drafts.set(slot.id, { slot, entry })
    this.touched.add(slot.id)
    if (entry.status === 'completed') this.completed.push(slot.id)
    return entry
  }

  remove(slot: FileSlot): void {
    this.entries.remove(slot)
    this.drafts.set(slot.id, { slot, entry: undefined })
    this.touched.add(slot.id)
  }

  /** Writes it all. Where single entries fail, those that rest on them are told by {@link failureOf}. */
  async commit(): Promise<void> {
    if (this.drafts.size === 0) return
    const { entries } = this
    const drafts = [...this.drafts.values()]
    const folders = new Set(drafts.map(({ slot }) => slot.folder))
    await entries.changes.tell(drafts.map(({ slot }) => [slot.folder, slot.name]))
    await each(drafts, async ({ slot, entry }) => {
      try {
        await (entry === undefined ? entries.unlink(slot) : entries.write(slot, entry))
      } catch (error) {
        this.failures.set(slot.id, error)
      }
    })
    await entries.settle(folders)
    await entries.processed.add(this.completed.filter((id) => !this.failures.has(id)))
    entries.trust(drafts.map(({ slot }) => slot).filter(({ id }) => !this.failures.has(id)))
  }

  /** Why something that rests on these entries cannot be said to be done. */
  failureOf(touched: ReadonlySet<string>): Error | undefined {
    for (const id of touched)
      if (this.failures.has(id)) return unavailable('could not write an entry', this.failures.get(id))
    return undefined
  }
}
