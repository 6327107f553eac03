import { join } from 'node:path'
import type { DeadLetter } from '@holdfast/records'
import { DeadLetterIndex, type IndexEntry, toIndexEntry } from '../dead-letter-index.js'
import { type ChangedFile, ChangeLog } from './change-log.js'
import { type Disk, type FileStamp, systemErrorCode } from './disk.js'
import { parseEntry, serializeEntry } from './entry-file.js'
import { type EntryPath, reservePath } from './entry-path.js'
import { forEachConcurrent } from './for-each.js'
import { ProcessedIds } from './processed.js'

/** What is known of an entry's file without reading it. */
export interface FileEntry extends IndexEntry, EntryPath {
  readonly stamp: FileStamp | undefined
}

/**
 * The files of the queue and the index of them: `{operation}/{id}.json`, an entry a file. Whoever calls what changes
 * something holds the lock.
 */
export class EntryFiles {
  readonly index = new DeadLetterIndex<FileEntry>()
  readonly processed: ProcessedIds
  readonly changes: ChangeLog
  /** When each folder was last changed, as far as the index knows. */
  private readonly folders = new Map<string, number>()
  private readonly byFile = new Map<string, string>()
  private sequence = 0
  /** Completed ones that were read since the last look at the processed. */
  private newlyCompleted: string[] = []
  /** Files of which the index may say more than they do: something was begun, and is not known to have ended well. */
  private readonly unverifiedFiles = new Map<string, ChangedFile>()
  /** Set until every file was looked at. */
  private needsFullScan = true
  private readonly disk: Disk
  private readonly root: string
  private readonly warn: (line: string) => void

  constructor(disk: Disk, root: string, warn: (line: string) => void) {
    this.disk = disk
    this.root = root
    this.warn = warn
    this.processed = new ProcessedIds(disk, join(root, '.processed_ids.json'), warn)
    this.changes = new ChangeLog(disk, root)
  }

  /** What the index says of these is in their files. */
  markVerified(slots: Iterable<FileEntry>): void {
    for (const { folder, name } of slots) this.unverifiedFiles.delete(`${folder}/${name}`)
  }

  nextSequence(): number {
    return ++this.sequence
  }

  private path(...parts: string[]): string {
    return join(this.root, ...parts)
  }

  /** Whether the index says what the files say. */
  async isUpToDate(): Promise<boolean> {
    if (this.needsFullScan || this.unverifiedFiles.size > 0 || !(await this.changes.isCurrent())) return false
    for (const [folder, mtime] of this.folders)
      if ((await this.disk.stamp(this.path(folder)))?.mtime !== mtime) return false
    return true
  }

  async refresh(): Promise<void> {
    const changed = this.needsFullScan ? undefined : await this.changes.read()
    if (changed === undefined) await this.scanAll()
    else await this.applyChanges(changed)
    await this.processed.refresh()
    // A writer that was killed may have completed an entry without noting its id.
    await this.processed.add(this.newlyCompleted)
    this.newlyCompleted = []
    this.needsFullScan = false
    this.unverifiedFiles.clear()
  }

  /**
   * Reads every file without the lock, which others need meanwhile. The log of changes must have been caught up with
   * before: what it tells since then is read again by the next {@link refresh}, and so is what could not be read.
   */
  async readAhead(): Promise<void> {
    for (const folder of await this.disk.folderNames(this.root)) {
      if (folder.startsWith('.')) continue
      const names = (await this.disk.fileNames(this.path(folder))).filter((name) => name.endsWith('.json'))
      await forEachConcurrent(names, (name) => this.indexFile(folder, name, false))
      this.folders.set(folder, Number.NaN)
    }
    await this.recordFolderTimes([''])
    this.needsFullScan = false
  }

  private async scanAll(): Promise<void> {
    await this.changes.catchUp()
    const found = (await this.disk.folderNames(this.root)).filter((name) => !name.startsWith('.'))
    await this.scan(new Set(['', ...this.folders.keys(), ...found]))
  }

  private async applyChanges(changed: readonly ChangedFile[]): Promise<void> {
    const files = new Map(
      [...changed, ...this.unverifiedFiles.values()].map((file) => [file.join('/'), file]),
    )
    await forEachConcurrent(files.values(), ([folder, name]) => this.indexFile(folder, name))
    if (files.size > 0) await this.recordFolderTimes(new Set([...files.values()].map(([folder]) => folder)))
    // A folder that changed though nobody said so: an operator, most likely.
    const changedFolders: string[] = []
    for (const [folder, mtime] of this.folders)
      if ((await this.disk.stamp(this.path(folder)))?.mtime !== mtime) changedFolders.push(folder)
    if (changedFolders.includes('')) changedFolders.push(...(await this.newFolders()))
    await this.scan(changedFolders)
  }

  private async newFolders(): Promise<string[]> {
    const found = await this.disk.folderNames(this.root)
    return found.filter((name) => !name.startsWith('.') && !this.folders.has(name))
  }

  /** Looks at every file of some folders. Only those that changed are read. */
  private async scan(folders: Iterable<string>): Promise<void> {
    for (const folder of folders) {
      if (folder !== '') await this.scanFolder(folder)
      await this.recordFolderTimes([folder])
    }
  }

  private async scanFolder(folder: string): Promise<void> {
    await this.disk.removeUnfinished(this.path(folder))
    const names = new Set(
      (await this.disk.fileNames(this.path(folder))).filter((name) => name.endsWith('.json')),
    )
    for (const [file, id] of this.byFile)
      if (file.startsWith(`${folder}/`) && !names.has(file.slice(folder.length + 1)))
        this.removeFile(file, id)
    await forEachConcurrent(names, (name) => this.indexFile(folder, name))
  }

  /** Remembers when folders were changed. */
  async recordFolderTimes(folders: Iterable<string>): Promise<void> {
    for (const folder of folders) {
      const stamp = await this.disk.stamp(this.path(folder))
      if (stamp === undefined) this.folders.delete(folder)
      else this.folders.set(folder, stamp.mtime)
    }
  }

  private removeFile(file: string, id: string): void {
    this.byFile.delete(file)
    this.index.delete(id)
  }

  /** Brings the index up to one file. Without the lock, one that is damaged is left for later. */
  private async indexFile(folder: string, name: string, isLocked = true): Promise<void> {
    const file = `${folder}/${name}`
    const id = this.byFile.get(file)
    const stamp = await this.disk.stamp(this.path(folder, name))
    if (stamp === undefined) {
      if (id !== undefined) this.removeFile(file, id)
      return
    }
    const existing = id === undefined ? undefined : this.index.get(id)?.stamp
    if (existing?.ino === stamp.ino && existing.mtime === stamp.mtime && existing.size === stamp.size) return
    const read = await this.readFile(folder, name, isLocked)
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
    if (entry.status === 'completed') this.newlyCompleted.push(entry.dlqId)
    this.addToIndex({ ...toIndexEntry(entry, sequence, owner), folder, name, stamp })
  }

  private addToIndex(slot: FileEntry): void {
    this.byFile.set(`${slot.folder}/${slot.name}`, slot.id)
    this.index.put(slot)
  }

  /** What a file holds. One that holds no entry is set aside, so that the rest goes on. */
  private async readFile(folder: string, name: string, isLocked: boolean) {
    const path = this.path(folder, name)
    const content = await this.disk.read(path)
    if (content === undefined) return undefined
    const found = parseEntry(content)
    if ('entry' in found) return found
    if (!isLocked) {
      this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
      return undefined
    }
    const quarantineFolder = this.path('.damaged', folder)
    this.warn(`${path} holds no dead letter (${found.why}); it is set aside in ${quarantineFolder}`)
    await this.disk.makeFolder(quarantineFolder)
    await this.disk.move(path, join(quarantineFolder, name))
    return undefined
  }

  /** An entry as it lies on disk; undefined where it has gone. */
  async read({ folder, name }: FileEntry): Promise<DeadLetter | undefined> {
    const content = await this.disk.read(this.path(folder, name))
    if (content === undefined) return undefined
    const found = parseEntry(content)
    if ('entry' in found) return found.entry
    this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
    return undefined
  }

  /** A place for a new entry. `taken` are those that were given away and are not written yet. */
  reserve(entry: DeadLetter, taken: Set<string>): Promise<EntryPath> {
    return reservePath(entry, { disk: this.disk, root: this.root, folders: this.folders, taken })
  }

  /** Puts an entry's place into the index, before it is written. A new one has a place that was reserved. */
  put(entry: DeadLetter, sequence: number, owner: string | undefined, reserved?: EntryPath): FileEntry {
    const { folder, name } = (this.index.get(entry.dlqId) ?? reserved) as EntryPath
    const slot = { ...toIndexEntry(entry, sequence, owner), folder, name, stamp: undefined }
    this.addToIndex(slot)
    this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
    return slot
  }

  remove(slot: FileEntry): void {
    this.unverifiedFiles.set(`${slot.folder}/${slot.name}`, [slot.folder, slot.name])
    this.removeFile(`${slot.folder}/${slot.name}`, slot.id)
  }

  async write(slot: FileEntry, entry: DeadLetter): Promise<void> {
    const path = this.path(slot.folder, slot.name)
    await this.disk.replace(path, serializeEntry(entry, slot.order, slot.owner))
    this.addToIndex({ ...slot, stamp: await this.disk.stamp(path) })
  }

  async unlink(slot: FileEntry): Promise<void> {
    await this.disk.remove(this.path(slot.folder, slot.name))
  }

  /** Makes the names of files last, and remembers the folders' times. */
  async syncFolders(folders: ReadonlySet<string>): Promise<void> {
    for (const folder of folders) {
      try {
        await this.disk.syncFolder(this.path(folder))
      } catch (error) {
        if (systemErrorCode(error) !== 'ENOENT') throw error
      }
    }
    await this.recordFolderTimes(['', ...folders])
  }
}
