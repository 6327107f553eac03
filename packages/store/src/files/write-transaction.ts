import type { DeadLetter } from '@holdfast/records'
import { createUnavailableError } from './disk.js'
import type { EntryFiles, FileEntry } from './entry-files.js'
import type { EntryPath } from './entry-path.js'
import { forEachConcurrent } from './for-each.js'
import { type ProcessedId, toProcessedId } from './processed.js'

/** An entry that will be written; undefined if its file will be deleted. */
interface PendingWrite {
  indexed: FileEntry
  entry: DeadLetter | undefined
}

/**
 * Changes that are written together under the lock. They are applied to the index one after the other, so that each sees those
 * before it, and then written concurrently. An entry that several of them change is written once.
 */
export class WriteTransaction {
  private readonly pendingWrites = new Map<string, PendingWrite>()
  private readonly completed: ProcessedId[] = []
  private readonly failures = new Map<string, unknown>()
  private touchedIds = new Set<string>()
  private readonly reservedPaths = new Set<string>()
  /** Whether the result of some work is what is stored already. */
  private confirmsStored = false
  readonly entries: EntryFiles

  constructor(entries: EntryFiles) {
    this.entries = entries
  }

  /** Runs one piece of work and returns the ids of the entries that it has read or changed. */
  async runWork<R>(
    work: (transaction: WriteTransaction) => Promise<R>,
  ): Promise<{ result: R; touched: ReadonlySet<string> }> {
    this.touchedIds = new Set()
    const result = await work(this)
    return { result, touched: this.touchedIds }
  }

  /** Finds an entry by id; undefined if it does not exist. */
  async find(id: string): Promise<{ indexed: FileEntry; entry: DeadLetter } | undefined> {
    const indexed = this.entries.index.get(id)
    if (indexed === undefined) return undefined
    const entry = await this.read(indexed)
    if (entry !== undefined) return { indexed, entry }
    this.entries.remove(indexed)
    return undefined
  }

  /** Reads an entry with the pending changes of this transaction; undefined if its file is gone. */
  async read(indexed: FileEntry): Promise<DeadLetter | undefined> {
    this.touchedIds.add(indexed.id)
    return this.pendingWrites.get(indexed.id)?.entry ?? this.entries.read(indexed)
  }

  /** Adds a new entry. It replaces the file of one with the same id that this transaction would delete. */
  async add(entry: DeadLetter): Promise<DeadLetter> {
    const removed = this.pendingWrites.get(entry.dlqId)?.indexed
    const path = removed ?? (await this.entries.reserve(entry, this.reservedPaths))
    return this.put(entry, this.entries.nextSequence(), undefined, path)
  }

  put(entry: DeadLetter, sequence: number, owner?: string, reserved?: EntryPath): DeadLetter {
    const indexed = this.entries.put(entry, sequence, owner, reserved)
    this.pendingWrites.set(indexed.id, { indexed, entry })
    this.touchedIds.add(indexed.id)
    if (entry.status === 'completed') this.completed.push(toProcessedId(entry))
    return entry
  }

  /** The result of the work is what is stored already, so that must be durable before the result is returned. */
  confirmStored(): void {
    this.confirmsStored = true
  }

  remove(indexed: FileEntry): void {
    this.entries.remove(indexed)
    this.pendingWrites.set(indexed.id, { indexed, entry: undefined })
    this.touchedIds.add(indexed.id)
  }

  /** Writes all changes. {@link failureOf} returns the failures of single entries. */
  async commit(): Promise<void> {
    const { entries } = this
    if (this.pendingWrites.size === 0) {
      if (this.confirmsStored) await entries.syncFolders(new Set())
      return
    }
    const writes = [...this.pendingWrites.values()]
    const folders = new Set(writes.map(({ indexed }) => indexed.folder))
    await entries.changes.append(writes.map(({ indexed }) => [indexed.folder, indexed.name]))
    await forEachConcurrent(writes, async ({ indexed, entry }) => {
      try {
        await (entry === undefined ? entries.unlink(indexed) : entries.write(indexed, entry))
      } catch (error) {
        this.failures.set(indexed.id, error)
      }
    })
    await entries.syncFolders(folders)
    await entries.processed.add(this.completed.filter(({ id }) => !this.failures.has(id)))
    entries.markVerified(writes.map(({ indexed }) => indexed).filter(({ id }) => !this.failures.has(id)))
  }

  /** The error of work that depends on one of these entries; undefined if all of them were written. */
  failureOf(touched: ReadonlySet<string>): Error | undefined {
    for (const id of touched)
      if (this.failures.has(id))
        return createUnavailableError('could not write an entry', this.failures.get(id))
    return undefined
  }
}
