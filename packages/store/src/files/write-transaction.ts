import type { DeadLetter } from '@holdfast/records'
import { createUnavailableError } from './disk.js'
import type { EntryFiles, FileEntry } from './entry-files.js'
import type { EntryPath } from './entry-path.js'
import { forEachConcurrent } from './for-each.js'

/** An entry as it is to be written; undefined where its file is to go. */
interface PendingWrite {
  slot: FileEntry
  entry: DeadLetter | undefined
}

/**
 * Changes that are made together, under the lock: decided one after the other on the index, each seeing those before
 * it, then written side by side. An entry that several of them change is written once.
 */
export class WriteTransaction {
  private readonly pendingWrites = new Map<string, PendingWrite>()
  private readonly completed: string[] = []
  private readonly failures = new Map<string, unknown>()
  private touchedIds = new Set<string>()
  private readonly reservedPaths = new Set<string>()
  readonly entries: EntryFiles

  constructor(entries: EntryFiles) {
    this.entries = entries
  }

  /** Does one piece of work and tells which entries it rests on. */
  async runWork<R>(
    work: (transaction: WriteTransaction) => Promise<R>,
  ): Promise<{ result: R; touched: ReadonlySet<string> }> {
    this.touchedIds = new Set()
    const result = await work(this)
    return { result, touched: this.touchedIds }
  }

  /** The entry of an id with its place; undefined where there is none. */
  async find(id: string): Promise<{ slot: FileEntry; entry: DeadLetter } | undefined> {
    const slot = this.entries.index.get(id)
    if (slot === undefined) return undefined
    const entry = await this.read(slot)
    if (entry !== undefined) return { slot, entry }
    this.entries.remove(slot)
    return undefined
  }

  /** The entry at a place, as the work before has left it; undefined where its file has gone. */
  async read(slot: FileEntry): Promise<DeadLetter | undefined> {
    this.touchedIds.add(slot.id)
    return this.pendingWrites.get(slot.id)?.entry ?? this.entries.read(slot)
  }

  /** Adds an entry that is not there yet. */
  async add(entry: DeadLetter): Promise<DeadLetter> {
    const place = await this.entries.reserve(entry, this.reservedPaths)
    return this.put(entry, this.entries.nextSequence(), undefined, place)
  }

  put(entry: DeadLetter, sequence: number, owner?: string, reserved?: EntryPath): DeadLetter {
    const slot = this.entries.put(entry, sequence, owner, reserved)
    this.pendingWrites.set(slot.id, { slot, entry })
    this.touchedIds.add(slot.id)
    if (entry.status === 'completed') this.completed.push(slot.id)
    return entry
  }

  remove(slot: FileEntry): void {
    this.entries.remove(slot)
    this.pendingWrites.set(slot.id, { slot, entry: undefined })
    this.touchedIds.add(slot.id)
  }

  /** Writes it all. Where single entries fail, those that rest on them are told by {@link failureOf}. */
  async commit(): Promise<void> {
    if (this.pendingWrites.size === 0) return
    const { entries } = this
    const drafts = [...this.pendingWrites.values()]
    const folders = new Set(drafts.map(({ slot }) => slot.folder))
    await entries.changes.append(drafts.map(({ slot }) => [slot.folder, slot.name]))
    await forEachConcurrent(drafts, async ({ slot, entry }) => {
      try {
        await (entry === undefined ? entries.unlink(slot) : entries.write(slot, entry))
      } catch (error) {
        this.failures.set(slot.id, error)
      }
    })
    await entries.syncFolders(folders)
    await entries.processed.add(this.completed.filter((id) => !this.failures.has(id)))
    entries.markVerified(drafts.map(({ slot }) => slot).filter(({ id }) => !this.failures.has(id)))
  }

  /** Why something that rests on these entries cannot be said to be done. */
  failureOf(touched: ReadonlySet<string>): Error | undefined {
    for (const id of touched)
      if (this.failures.has(id))
        return createUnavailableError('could not write an entry', this.failures.get(id))
    return undefined
  }
}
