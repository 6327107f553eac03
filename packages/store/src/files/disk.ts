import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { HoldfastError, isHoldfastError } from 'holdfast'
import { type FileSystem, type OpenFile, systemFileSystem } from './file-system.js'

const gzipAsync = promisify(gzip)
const gunzipAsync = promisify(gunzip)

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** The prefix of temporary files. */
const UNFINISHED_PREFIX = '.unfinished-'

const HINT_BY_CODE: Record<string, string> = {
  ENOSPC: 'the disk is full; free some space, then retry: no acknowledged change is lost',
  EDQUOT: 'the disk quota is exceeded; free some space, then retry: no acknowledged change is lost',
  EROFS: 'the file system is read-only; mount it writable, or choose another folder',
  EACCES: 'no permission; check the owner and the modes of the folder',
  EPERM: 'no permission; check the owner and the modes of the folder',
  ENOENT: 'the folder does not exist any more; restore it, or open the store again',
  ENOTDIR: 'a file is in the place of a folder; move it, or choose another folder',
  EIO: 'the disk failed to read or write; check the disk, then retry',
  EMFILE: 'this process has too many files open; raise its limit',
}

/** The code of a system error. */
export const systemErrorCode = (error: unknown): string => String((error as { code?: unknown } | null)?.code)

/** Wraps an error of the disk: which path failed, why, and what to do. */
export function createUnavailableError(path: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error
  const reason = HINT_BY_CODE[systemErrorCode(error)] ?? 'it failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new HoldfastError('STORE_UNAVAILABLE', `the files store ${path}: ${reason} (${detail})`, {
    cause: error,
    status: 503,
  })
}

/** Parses a file of the store. The message of the parser is not used, because it quotes the content, which may be secret. */
export function parseJson(path: string, content: Buffer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    const message = `the files store: ${path} is not valid JSON; restore a backup, or move the file away to start without it`
    throw new HoldfastError('STORE_UNAVAILABLE', message, { status: 503 })
  }
}

/** Resolves with undefined if the file does not exist. */
async function undefinedIfMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The parent of the folder of a store can belong to another user. */
function ignoreNoPermission(error: unknown): void {
  if (!['EACCES', 'EPERM'].includes(systemErrorCode(error))) throw error
}

/** Identifies a version of a file. */
export interface FileStamp {
  ino: number
  /** When the file was created, because a new file may get the inode number of a deleted one. */
  createdAt: number
  size: number
  mtime: number
}

/** A lock for all processes that use a folder. */
export interface FileLock {
  /** Runs the work while no other work runs under this lock, in this or another process. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>
  /** @throws STORE_UNAVAILABLE if another process took over the lock from the running work */
  verify(): void
  /** Waits for running work and rejects new work. */
  close(): Promise<void>
}

/** All disk operations of the store. Data is durable when the promise of the write resolves. */
export class Disk {
  readonly fs: FileSystem
  /** The files whose names this process has flushed. Another one may have died, or failed, before it did. */
  private readonly flushedNames = new Set<string>()

  constructor(fs: FileSystem = systemFileSystem) {
    this.fs = fs
  }

  /** Replaces the lock files. Undefined, except on a simulated disk, which has no other processes. */
  createLock(_path: string): FileLock | undefined {
    return undefined
  }

  /** Creates an id that no file on the disk has in its name. */
  createId(): string {
    return randomUUID()
  }

  /** Compresses the content of a file. A simulated disk does it without a thread, because threads end in any order. */
  compress(content: Buffer): Promise<Buffer> {
    return gzipAsync(content)
  }

  decompress(content: Buffer): Promise<Buffer> {
    return gunzipAsync(content)
  }

  /** This disk for work under a lock: each change first verifies that the lock was not taken over by another process. */
  fencedBy(lock: { verify(): void }): this {
    return new Proxy(this, {
      get: (disk, key) => (key === 'verifyLock' ? () => lock.verify() : (Reflect.get(disk, key) as unknown)),
    })
  }

  /** @throws STORE_UNAVAILABLE if another process took over the lock that the change is made under */
  verifyLock(): void {}

  /** Creates folders one by one: a recursive `mkdir` reports a read-only file system as a missing folder. */
  async makeFolder(path: string): Promise<void> {
    const make = () => this.fs.mkdir(path, { mode: FOLDER_MODE })
    try {
      await make().catch(async (error: unknown) => {
        if (systemErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
        await this.makeFolder(dirname(path))
        await make()
      })
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error
      // The process that created it may have died, or failed, before it flushed the name.
      return this.syncFolder(dirname(path)).catch(ignoreNoPermission)
    }
    await this.syncFolder(dirname(path))
  }

  /** Replaces a file atomically: readers see the old or the new content. `syncFolder` makes the name durable. */
  async replace(path: string, content: string | Uint8Array): Promise<void> {
    const unfinished = join(dirname(path), UNFINISHED_PREFIX + this.createId())
    try {
      const file = await this.fs.open(unfinished, 'wx', FILE_MODE)
      try {
        await this.write(file, content)
        await file.sync()
      } finally {
        await file.close()
      }
      this.verifyLock()
      await this.fs.rename(unfinished, path)
    } catch (error) {
      await this.fs.rm(unfinished, { force: true }).catch(() => {})
      throw error
    }
  }

  /** Appends complete lines to a file. The caller holds the lock of the file. A failed write is undone. */
  async append(path: string, lines: string): Promise<void> {
    const file = await this.fs.open(path, 'a+', FILE_MODE)
    /** Undefined until it is known, because an append to a file of unknown size cannot be undone. */
    let size: number | undefined
    try {
      size = (await file.stat()).size
      const last = Buffer.from('\n')
      if (size > 0) await file.read(last, 0, 1, size - 1)
      // A killed process may have left a partial line.
      await this.write(file, last.toString() === '\n' ? lines : `\n${lines}`)
      await file.datasync()
      if (size === 0 || !this.flushedNames.has(path)) await this.flushName(path)
    } catch (error) {
      if (size !== undefined) await this.undoAppend(path, size).catch(() => {})
      throw error
    } finally {
      await file.close()
    }
  }

  private async flushName(path: string): Promise<void> {
    this.flushedNames.delete(path)
    await this.syncFolder(dirname(path))
    this.flushedNames.add(path)
  }

  private async undoAppend(path: string, size: number): Promise<void> {
    this.verifyLock()
    await this.fs.truncate(path, size)
  }

  /** Overwrites a file from an offset on, and truncates it after the new text. */
  async overwrite(path: string, offset: number, text: string): Promise<void> {
    const file = await this.fs.open(path, 'r+', FILE_MODE)
    try {
      const bytes = Buffer.from(text)
      await this.write(file, bytes, offset)
      this.verifyLock()
      await file.truncate(offset + bytes.length)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  protected async write(file: OpenFile, content: string | Uint8Array, offset?: number): Promise<void> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    for (let done = 0; done < bytes.length; ) {
      const position = offset === undefined ? null : offset + done
      this.verifyLock()
      done += (await file.write(bytes, done, bytes.length - done, position)).bytesWritten
    }
  }

  async syncFolder(path: string): Promise<void> {
    // Windows cannot open folders, and names of files are durable without it.
    if (process.platform === 'win32') return
    const folder = await this.fs.open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  read(path: string): Promise<Buffer | undefined> {
    return undefinedIfMissing(this.fs.readFile(path))
  }

  /** Opens a file to read parts of it. */
  open(path: string): Promise<OpenFile | undefined> {
    return undefinedIfMissing(this.fs.open(path, 'r'))
  }

  async remove(path: string): Promise<void> {
    this.verifyLock()
    await this.fs.rm(path, { force: true })
  }

  async move(from: string, to: string): Promise<void> {
    this.verifyLock()
    await undefinedIfMissing(this.fs.rename(from, to))
  }

  /** The names in a folder, without those of folders. */
  async fileNames(folder: string): Promise<string[]> {
    const entries = await this.list(folder)
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)
  }

  async folderNames(path: string): Promise<string[]> {
    const entries = await this.list(path)
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  }

  private async list(folder: string) {
    return (await undefinedIfMissing(this.fs.readdir(folder, { withFileTypes: true }))) ?? []
  }

  async stamp(path: string): Promise<FileStamp | undefined> {
    const found = await undefinedIfMissing(this.fs.stat(path))
    return found && { ino: found.ino, createdAt: found.birthtimeMs, size: found.size, mtime: found.mtimeMs }
  }

  /** Deletes temporary files of killed processes. The caller holds the lock of the folder. */
  async removeUnfinished(folder: string): Promise<void> {
    for (const name of await this.fileNames(folder))
      if (name.startsWith(UNFINISHED_PREFIX)) await this.remove(join(folder, name))
  }
}
