import { join } from 'node:path'
import type { DeadLetter } from '@holdfast/records'
import { DeadLetterIndex, type IndexEntry, toIndexEntry } from '../dead-letter-index.js'
import { type ChangedFile, ChangeLog } from './change-log.js'
import { type Disk, type FileStamp, systemErrorCode } from './disk.js'
import { parseEntry, serializeEntry } from './entry-file.js'
import { type EntryPath, reservePath } from './entry-path.js'
import { forEachConcurrent } from './for-each.js'
import { type ProcessedId, ProcessedIds, toProcessedId } from './processed.js'

/** The errors of reads that concern one file and not the whole folder. */
const UNREADABLE_CODES = new Set(['EACCES', 'EPERM', 'EISDIR', 'EIO'])

/** How often a file is read that the disk fails to read. An entry is omitted only if its file fails again and again. */
const READ_ATTEMPTS = 8

/** An index entry with the path and stamp of its file. */
export interface FileEntry extends IndexEntry, EntryPath {
  readonly stamp: FileStamp | undefined
}

/**
 * The files of the dead letter queue and their index: one file per entry, `{operation}/{id}.json`. The caller of a method that
 * changes something holds the lock.
 */
export class EntryFiles {
  readonly index = new DeadLetterIndex<FileEntry>()
  readonly processed: ProcessedIds
  readonly changes: ChangeLog
  /** The modification time of each folder, as of the last scan. */
  private readonly folders = new Map<string, number>()
  private readonly byFile = new Map<string, string>()
  private sequence = 0
  /** Completed entries that were read since the last update of `processed`. */
  private newlyCompleted: ProcessedId[] = []
  /** Files that may differ from the index: a write was started and has not been confirmed. */
  private readonly unverifiedFiles = new Map<string, ChangedFile>()
  /** Files that could not be read. Every refresh reads them again. */
  private readonly unreadableFiles = new Map<string, ChangedFile>()
  /** Folders whose names may not be durable: another process, or a failed write, has changed them. */
  private readonly unflushedFolders = new Set<string>()
  /** Whether some files have not been read yet. */
  private needsFullScan = true
  private readonly disk: Disk
  private readonly root: string
  private readonly warn: (line: string) => void

  constructor(disk: Disk, root: string, warn: (line: string) => void) {
    this.disk = disk
    this.root = root
    this.warn = warn
    this.processed = new ProcessedIds(disk, root, warn)
    this.changes = new ChangeLog(disk, root)
  }

  /** Confirms that the files of these entries have been written. */
  markVerified(entries: Iterable<FileEntry>): void {
    for (const { folder, name } of entries) this.unverifiedFiles.delete(`${folder}/${name}`)
  }

  nextSequence(): number {
    return ++this.sequence
  }

  private path(...parts: string[]): string {
    return join(this.root, ...parts)
  }

  /** Whether the index matches the files. */
  async isUpToDate(): Promise<boolean> {
    if (this.needsFullScan || this.unverifiedFiles.size > 0 || this.unreadableFiles.size > 0) return false
    if (!(await this.changes.isCurrent())) return false
    for (const [folder, mtime] of this.folders)
      if ((await this.disk.stamp(this.path(folder)))?.mtime !== mtime) return false
    return true
  }

  async refresh(): Promise<void> {
    const changed = this.needsFullScan ? undefined : await this.changes.read()
    // The log does not return these changes again, so a refresh that fails must be followed by a scan.
    this.needsFullScan = true
    if (changed === undefined) await this.scanAll()
    else await this.applyChanges(changed)
    await this.processed.refresh()
    // A killed process may have completed an entry without recording its id. The entry must be durable before its id is.
    if (this.newlyCompleted.some(({ id }) => !this.processed.has(id))) await this.flushFolders(new Set())
    await this.processed.add(this.newlyCompleted)
    this.newlyCompleted = []
    this.needsFullScan = false
    this.unverifiedFiles.clear()
  }

  /**
   * Reads every file without the lock, which other processes need meanwhile. `changes.catchUp` must have been called before: the
   * next {@link refresh} reads the files that were changed since then, and those that could not be read.
   */
  async readAhead(): Promise<void> {
    for (const folder of await this.disk.folderNames(this.root)) {
      if (folder.startsWith('.')) continue
      const names = (await this.disk.fileNames(this.path(folder))).filter((name) => name.endsWith('.json'))
      await forEachConcurrent(names, (name) => this.indexFile(folder, name, false))
      this.folders.set(folder, Number.NaN)
      this.unflushedFolders.add(folder)
    }
    this.unflushedFolders.add('')
    await this.recordFolderTimes([''])
    this.needsFullScan = false
  }

  private async scanAll(): Promise<void> {
    await this.changes.catchUp()
    const found = (await this.disk.folderNames(this.root)).filter((name) => !name.startsWith('.'))
    await this.scan(new Set(['', ...this.folders.keys(), ...found]))
  }

  private async applyChanges(changed: readonly ChangedFile[]): Promise<void> {
    await forEachConcurrent([...this.unreadableFiles.values()], ([folder, name]) =>
      this.indexFile(folder, name),
    )
    const files = new Map(
      [...changed, ...this.unverifiedFiles.values()].map((file) => [file.join('/'), file]),
    )
    for (const [folder] of files.values()) this.unflushedFolders.add(folder)
    await forEachConcurrent(files.values(), ([folder, name]) => this.indexFile(folder, name))
    if (files.size > 0) await this.recordFolderTimes(new Set([...files.values()].map(([folder]) => folder)))
    // A folder can also change without an entry in the log, for example by an operator.
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

  /** Checks every file of some folders. Only changed files are read. */
  private async scan(folders: Iterable<string>): Promise<void> {
    for (const folder of folders) {
      this.unflushedFolders.add(folder)
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

  /** Stores the modification times of folders. */
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

  /** Updates the index from one file. Without the lock a damaged file is left for the next refresh. */
  private async indexFile(folder: string, name: string, isLocked = true): Promise<void> {
    const file = `${folder}/${name}`
    const id = this.byFile.get(file)
    const stamp = await this.disk.stamp(this.path(folder, name))
    if (stamp === undefined) {
      this.unreadableFiles.delete(file)
      if (id !== undefined) this.removeFile(file, id)
      return
    }
    // After a write that was not confirmed the file is read, because the id of a completed entry may not be recorded.
    const isVerified = id !== undefined && !this.unverifiedFiles.has(file) && !this.unreadableFiles.has(file)
    const existing = isVerified ? this.index.get(id)?.stamp : undefined
    if (existing?.ino === stamp.ino && existing.mtime === stamp.mtime && existing.size === stamp.size) return
    const read = await this.readFile(folder, name, isLocked)
    if (read === undefined) return
    const { entry, owner } = read
    const other = this.index.get(entry.dlqId)
    if (other !== undefined && `${other.folder}/${other.name}` !== file) {
      this.warn(
        `${this.path(folder, name)} has the same id as ${this.path(other.folder, other.name)} and is ignored`,
      )
      return
    }
    const sequence = other?.order ?? read.sequence ?? this.nextSequence()
    this.sequence = Math.max(this.sequence, sequence)
    if (entry.status === 'completed') this.newlyCompleted.push(toProcessedId(entry))
    this.addToIndex({ ...toIndexEntry(entry, sequence, owner), folder, name, stamp })
  }

  private addToIndex(indexed: FileEntry): void {
    this.byFile.set(`${indexed.folder}/${indexed.name}`, indexed.id)
    this.index.put(indexed)
  }

  /** Reads an entry from its file. A damaged file is quarantined, so that the queue can continue. */
  private async readFile(folder: string, name: string, isLocked: boolean) {
    const path = this.path(folder, name)
    const content = await this.readContent(folder, name)
    if (content === undefined) return undefined
    const found = parseEntry(content)
    if ('entry' in found) return found
    if (!isLocked) {
      this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
      return undefined
    }
    const quarantineFolder = this.path('.damaged', folder)
    this.warn(`${path} is not a valid dead letter (${found.problem}); it was moved to ${quarantineFolder}`)
    await this.disk.makeFolder(quarantineFolder)
    await this.disk.move(path, join(quarantineFolder, name))
    return undefined
  }

  /** Reads a file; undefined if it is gone or cannot be read. The queue continues without a file that cannot be read. */
  private async readContent(folder: string, name: string): Promise<Buffer | undefined> {
    const file = `${folder}/${name}`
    const isKnown = this.unreadableFiles.has(file)
    for (let attempt = 1; ; attempt++) {
      try {
        const content = await this.disk.read(this.path(folder, name))
        this.unreadableFiles.delete(file)
        return content
      } catch (error) {
        const code = systemErrorCode(error)
        if (!UNREADABLE_CODES.has(code)) throw error
        if (code === 'EIO' && !isKnown && attempt < READ_ATTEMPTS) continue
        this.unreadableFiles.set(file, [folder, name])
        if (!isKnown)
          this.warn(`${this.path(file)} is ignored until it can be read (${(error as Error).message})`)
        return undefined
      }
    }
  }

  /** Whether the file of an entry could not be read. The index has its last known state. */
  isUnreadable({ folder, name }: EntryPath): boolean {
    return this.unreadableFiles.has(`${folder}/${name}`)
  }

  /** Reads an entry from its file; undefined if the file is gone or damaged. */
  async read({ folder, name }: FileEntry): Promise<DeadLetter | undefined> {
    const content = await this.disk.read(this.path(folder, name)).catch((error: unknown) => {
      // The next refresh finds out whether the file can be read.
      this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
      throw error
    })
    if (content === undefined) return undefined
    const found = parseEntry(content)
    if ('entry' in found) return found.entry
    this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
    return undefined
  }

  /** Reserves a path for a new entry. `taken` has the reserved paths that are not written yet. */
  reserve(entry: DeadLetter, taken: Set<string>): Promise<EntryPath> {
    return reservePath(entry, {
      disk: this.disk,
      root: this.root,
      folders: this.folders,
      taken,
      isUnreadable: (path) => this.isUnreadable(path),
    })
  }

  /** Adds an entry to the index before its file is written. A new entry needs a reserved path. */
  put(entry: DeadLetter, sequence: number, owner: string | undefined, reserved?: EntryPath): FileEntry {
    const { folder, name } = (this.index.get(entry.dlqId) ?? reserved) as EntryPath
    const indexed = { ...toIndexEntry(entry, sequence, owner), folder, name, stamp: undefined }
    this.addToIndex(indexed)
    this.unverifiedFiles.set(`${folder}/${name}`, [folder, name])
    return indexed
  }

  remove(indexed: FileEntry): void {
    this.unverifiedFiles.set(`${indexed.folder}/${indexed.name}`, [indexed.folder, indexed.name])
    this.removeFile(`${indexed.folder}/${indexed.name}`, indexed.id)
  }

  async write(indexed: FileEntry, entry: DeadLetter): Promise<void> {
    const path = this.path(indexed.folder, indexed.name)
    await this.disk.replace(path, serializeEntry(entry, indexed.order, indexed.owner))
    const stamp = await this.disk.stamp(path)
    // Another process that took over the lock may have replaced the file, so that the stamp is not that of this version.
    this.disk.verifyLock()
    this.addToIndex({ ...indexed, stamp })
  }

  async unlink(indexed: FileEntry): Promise<void> {
    await this.disk.remove(this.path(indexed.folder, indexed.name))
  }

  /** Flushes changed folders and those that may not be durable, and stores the modification times of the changed ones. */
  async syncFolders(folders: ReadonlySet<string>): Promise<void> {
    await this.flushFolders(folders)
    await this.recordFolderTimes(['', ...folders])
  }

  private async flushFolders(folders: ReadonlySet<string>): Promise<void> {
    for (const folder of new Set([...folders, ...this.unflushedFolders])) {
      try {
        await this.disk.syncFolder(this.path(folder))
      } catch (error) {
        if (systemErrorCode(error) !== 'ENOENT') throw error
      }
      this.unflushedFolders.delete(folder)
    }
  }
}
