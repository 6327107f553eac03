import { join } from 'node:path'
import type { DeadLetter } from '../../records/dead-letter.js'
import { DeadLetterIndex, type Slot, slotOf } from '../dead-letter-index.js'
import { type Changed, Changes } from './changes.js'
import { codeOf, type Disk, type FileStamp } from './disk.js'
import { each } from './each.js'
import { readEntry, writeEntry } from './entry-file.js'
import { type Place, reserve } from './place.js'
import { ProcessedIds } from './processed.js'

/** What is known of an entry's file without reading it. */
export interface FileSlot extends Slot, Place {
  readonly stamp: FileStamp | undefined
}

/**
 * The files of the queue and the index of them: `{operation}/{id}.json`, an entry a file. Whoever calls what changes
 * something holds the lock.
 */
export class Entries {
  readonly index = new DeadLetterIndex<FileSlot>()
  readonly processed: ProcessedIds
  readonly changes: Changes
  /** When each folder was last changed, as far as the index knows. */
  private readonly folders = new Map<string, number>()
  private readonly byFile = new Map<string, string>()
  private sequence = 0
  /** Completed ones that were read since the last look at the processed. */
  private completed: string[] = []
  /** Files of which the index may say more than they do: something was begun, and is not known to have ended well. */
  private readonly suspects = new Map<string, Changed>()
  /** Set until every file was looked at. */
  private stale = true
  private readonly disk: Disk
  private readonly root: string
  private readonly warn: (line: string) => void

  constructor(disk: Disk, root: string, warn: (line: string) => void) {
    this.disk = disk
    this.root = root
    this.warn = warn
    this.processed = new ProcessedIds(disk, join(root, '.processed_ids.json'), warn)
    this.changes = new Changes(disk, root)
  }

  /** What the index says of these is in their files. */
  trust(slots: Iterable<FileSlot>): void {
    for (const { folder, name } of slots) this.suspects.delete(`${folder}/${name}`)
  }

  nextSequence(): number {
    return ++this.sequence
  }

  private path(...parts: string[]): string {
    return join(this.root, ...parts)
  }

  /** Whether the index says what the files say. */
  async isFresh(): Promise<boolean> {
    if (this.stale || this.suspects.size > 0 || !(await this.changes.isCurrent())) return false
    for (const [folder, mtime] of this.folders)
      if ((await this.disk.stamp(this.path(folder)))?.mtime !== mtime) return false
    return true
  }

  async refresh(): Promise<void> {
    const changed = this.stale ? undefined : await this.changes.read()
    if (changed === undefined) await this.scanAll()
    else await this.follow(changed)
    await this.processed.refresh()
    // A writer that was killed may have completed an entry without noting its id.
    await this.processed.add(this.completed)
    this.completed = []
    this.stale = false
    this.suspects.clear()
  }

  /**
   * Reads every file without the lock, which others need meanwhile. The log of changes must have been caught up with
   * before: what it tells since then is read again by the next {@link refresh}, and so is what could not be read.
   */
  async readAhead(): Promise<void> {
    for (const folder of await this.disk.folders(this.root)) {
      if (folder.startsWith('.')) continue
      const names = (await this.disk.names(this.path(folder))).filter((name) => name.endsWith('.json'))
      await each(names, (name) => this.load(folder, name, false))
      this.folders.set(folder, Number.NaN)
    }
    await this.note([''])
    this.stale = false
  }

  private async scanAll(): Promise<void> {
    await this.changes.catchUp()
    const found = (await this.disk.folders(this.root)).filter((name) => !name.startsWith('.'))
    await this.scan(new Set(['', ...this.folders.keys(), ...found]))
  }

  private async follow(changed: readonly Changed[]): Promise<void> {
    const files = new Map([...changed, ...this.suspects.values()].map((file) => [file.join('/'), file]))
    await each(files.values(), ([folder, name]) => this.load(folder, name))
    if (files.size > 0) await this.note(new Set([...files.values()].map(([folder]) => folder)))
    // A folder that changed though nobody said so: an operator, most likely.
    const odd: string[] = []
    for (const [folder, mtime] of this.folders)
      if ((await this.disk.stamp(this.path(folder)))?.mtime !== mtime) odd.push(folder)
    if (odd.includes('')) odd.push(...(await this.newFolders()))
    await this.scan(odd)
  }

  private async newFolders(): Promise<string[]> {
    const found = await this.disk.folders(this.root)
    return found.filter((name) => !name.startsWith('.') && !this.folders.has(name))
  }

  /** Looks at every file of some folders. Only those that changed are read. */
  private async scan(folders: Iterable<string>): Promise<void> {
    for (const folder of folders) {
      if (folder !== '') await this.scanFolder(folder)
      await this.note([folder])
    }
  }

  private async scanFolder(folder: string): Promise<void> {
    await this.disk.sweep(this.path(folder))
    const names = new Set((await this.disk.names(this.path(folder))).filter((name) => name.endsWith('.json')))
    for (const [file, id] of this.byFile)
      if (file.startsWith(`${folder}/`) && !names.has(file.slice(folder.length + 1))) this.forget(file, id)
    await each(names, (name) => this.load(folder, name))
  }

  /** Remembers when folders were changed. */
  async note(folders: Iterable<string>): Promise<void> {
    for (const folder of folders) {
      const stamp = await this.disk.stamp(this.path(folder))
      if (stamp === undefined) this.folders.delete(folder)
      else this.folders.set(folder, stamp.mtime)
    }
  }

  private forget(file: string, id: string): void {
    this.byFile.delete(file)
    this.index.delete(id)
  }

  /** Brings the index up to one file. Without the lock, one that is damaged is left for later. */
  private async load(folder: string, name: string, held = true): Promise<void> {
    const file = `${folder}/${name}`
    const id = this.byFile.get(file)
    const stamp = await this.disk.stamp(this.path(folder, name))
    if (stamp === undefined) {
      if (id !== undefined) this.forget(file, id)
      return
    }
    const known = id === undefined ? undefined : this.index.get(id)?.stamp
    if (known?.ino === stamp.ino && known.mtime === stamp.mtime && known.size === stamp.size) return
    const read = await this.parse(folder, name, held)
    if (read === undefined) return
    const { entry, owner } = read
    const other = this.index.get(entry.dlqId)
    if (other !== undefined && `${other.folder}/${other.name}` !== file) {
      this.warn(
        `${this.path(folder, name)} has the id of ${this.path(other.folder, other.name)}; it is passed over`,
      )
      return
    }
    const sequence = other?.order ?? read.sequence ?? this.nextSequence()
    this.sequence = Math.max(this.sequence, sequence)
    if (entry.status === 'completed') this.completed.push(entry.dlqId)
    this.place({ ...slotOf(entry, sequence, owner), folder, name, stamp })
  }

  private place(slot: FileSlot): void {
    this.byFile.set(`${slot.folder}/${slot.name}`, slot.id)
    this.index.put(slot)
  }

  /** What a file holds. One that holds no entry is set aside, so that the rest goes on. */
  private async parse(folder: string, name: string, held: boolean) {
    const path = this.path(folder, name)
    const content = await this.disk.read(path)
    if (content === undefined) return undefined
    const found = readEntry(content)
    if ('entry' in found) return found
    if (!held) {
      this.suspects.set(`${folder}/${name}`, [folder, name])
      return undefined
    }
    const aside = this.path('.damaged', folder)
    this.warn(`${path} holds no dead letter (${found.why}); it is set aside in ${aside}`)
    await this.disk.makeFolder(aside)
    await this.disk.move(path, join(aside, name))
    return undefined
  }

  /** An entry as it lies on disk; undefined where it has gone. */
  async read({ folder, name }: FileSlot): Promise<DeadLetter | undefined> {
    const content = await this.disk.read(this.path(folder, name))
    if (content === undefined) return undefined
    const found = readEntry(content)
    if ('entry' in found) return found.entry
    this.suspects.set(`${folder}/${name}`, [folder, name])
    return undefined
  }

  /** A place for a new entry. `taken` are those that were given away and are not written yet. */
  reserve(entry: DeadLetter, taken: Set<string>): Promise<Place> {
    return reserve(entry, { disk: this.disk, root: this.root, folders: this.folders, taken })
  }

  /** Puts an entry's place into the index, before it is written. A new one has a place that was reserved. */
  put(entry: DeadLetter, sequence: number, owner: string | undefined, reserved?: Place): FileSlot {
    const { folder, name } = (this.index.get(entry.dlqId) ?? reserved) as Place
    const slot = { ...slotOf(entry, sequence, owner), folder, name, stamp: undefined }
    this.place(slot)
    this.suspects.set(`${folder}/${name}`, [folder, name])
    return slot
  }

  remove(slot: FileSlot): void {
    this.suspects.set(`${slot.folder}/${slot.name}`, [slot.folder, slot.name])
    this.forget(`${slot.folder}/${slot.name}`, slot.id)
  }

  async write(slot: FileSlot, entry: DeadLetter): Promise<void> {
    const path = this.path(slot.folder, slot.name)
    await this.disk.replace(path, writeEntry(entry, slot.order, slot.owner))
    this.place({ ...slot, stamp: await this.disk.stamp(path) })
  }

  async unlink(slot: FileSlot): Promise<void> {
    await this.disk.remove(this.path(slot.folder, slot.name))
  }

  /** Makes the names of files last, and remembers the folders' times. */
  async settle(folders: ReadonlySet<string>): Promise<void> {
    for (const folder of folders) {
      try {
        await this.disk.syncFolder(this.path(folder))
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error
      }
    }
    await this.note(['', ...folders])
  }
}
