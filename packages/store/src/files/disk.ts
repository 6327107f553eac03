import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HoldfastError, isHoldfastError } from 'holdfast'

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** What the names of files begin with that are not finished. */
const UNFINISHED_PREFIX = '.unfinished-'

const HINT_BY_CODE: Record<string, string> = {
  ENOSPC: 'the disk is full; make room, then try again: nothing that was acknowledged is lost',
  EDQUOT:
    'the quota of the disk is used up; make room, then try again: nothing that was acknowledged is lost',
  EROFS: 'the file system is read-only; mount it writable, or choose another folder',
  EACCES: 'no permission; check the owner and the modes of the folder',
  EPERM: 'no permission; check the owner and the modes of the folder',
  ENOENT: 'the folder is gone; put it back, or open the store again',
  ENOTDIR: 'a file lies where a folder should be; move it away, or choose another folder',
  EIO: 'the disk failed to read or write; see to the disk, then try again',
  EMFILE: 'this process has too many files open; raise its limit',
}

/** The code of a system error. */
export const systemErrorCode = (error: unknown): string => String((error as { code?: unknown } | null)?.code)

/** The error that a caller gets: what is wrong with which place, and what to do. */
export function createUnavailableError(place: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error
  const why = HINT_BY_CODE[systemErrorCode(error)] ?? 'it failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new HoldfastError('STORE_UNAVAILABLE', `the files store ${place}: ${why} (${detail})`, {
    cause: error,
    status: 503,
  })
}

/** What a file of ours holds. The parser's own words would quote it, and it may hold secrets. */
export function parseJson(path: string, content: Buffer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    const what = `the files store: ${path} is no JSON; put a backup in its place, or move it away to begin anew`
    throw new HoldfastError('STORE_UNAVAILABLE', what, { status: 503 })
  }
}

/** Undefined where there is no such file. */
async function undefinedIfMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** What tells whether a file is still the one it was. */
export interface FileStamp {
  ino: number
  /** When it was made: a new file may have the number of one that has gone. */
  createdAt: number
  size: number
  mtime: number
}

/** All that the store does to a disk. What a method has written is there after a crash when its promise resolves. */
export class Disk {
  /** This disk for work under a lock: each change first verifies that the lock was not taken over by another process. */
  fencedBy(lock: { verify(): void }): this {
    return new Proxy(this, {
      get: (disk, key) => (key === 'verifyLock' ? () => lock.verify() : (Reflect.get(disk, key) as unknown)),
    })
  }

  /** @throws STORE_UNAVAILABLE if another process took over the lock that the change is made under */
  verifyLock(): void {}

  /** Folder by folder: made in one go, a read-only file system would be reported as a folder that is missing. */
  async makeFolder(path: string): Promise<void> {
    const make = () => mkdir(path, { mode: FOLDER_MODE })
    try {
      await make().catch(async (error: unknown) => {
        if (systemErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
        await this.makeFolder(dirname(path))
        await make()
      })
    } catch (error) {
      if (systemErrorCode(error) === 'EEXIST') return
      throw error
    }
    await this.syncFolder(dirname(path))
  }

  /** Puts a whole file in place: readers see the old one or the new one. `syncFolder` makes its name last. */
  async replace(path: string, content: string | Uint8Array): Promise<void> {
    const unfinished = join(dirname(path), UNFINISHED_PREFIX + randomUUID())
    try {
      const file = await open(unfinished, 'wx', FILE_MODE)
      try {
        await this.write(file, content)
        await file.sync()
      } finally {
        await file.close()
      }
      this.verifyLock()
      await rename(unfinished, path)
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {})
      throw error
    }
  }

  /** Adds whole lines to a file. Whoever calls it holds the file's lock. What could not be finished is taken back. */
  async append(path: string, lines: string): Promise<void> {
    const file = await open(path, 'a+', FILE_MODE)
    let size = 0
    try {
      size = (await file.stat()).size
      const last = Buffer.from('\n')
      if (size > 0) await file.read(last, 0, 1, size - 1)
      // A writer that was killed may have left half a line.
      await this.write(file, last.toString() === '\n' ? lines : `\n${lines}`)
      await file.datasync()
    } catch (error) {
      await this.takeBack(path, size).catch(() => {})
      throw error
    } finally {
      await file.close()
    }
    if (size === 0) await this.syncFolder(dirname(path))
  }

  /** Cuts off what could not be finished. */
  private async takeBack(path: string, size: number): Promise<void> {
    this.verifyLock()
    await truncate(path, size)
  }

  /** Writes over a file from an offset on, and cuts it off behind. */
  async overwrite(path: string, offset: number, text: string): Promise<void> {
    const file = await open(path, 'r+', FILE_MODE)
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

  protected async write(file: FileHandle, content: string | Uint8Array, offset?: number): Promise<void> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    for (let done = 0; done < bytes.length; ) {
      const place = offset === undefined ? null : offset + done
      this.verifyLock()
      done += (await file.write(bytes, done, bytes.length - done, place)).bytesWritten
    }
  }

  async syncFolder(path: string): Promise<void> {
    // Windows opens no folders, and needs no such thing.
    if (process.platform === 'win32') return
    const folder = await open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  read(path: string): Promise<Buffer | undefined> {
    return undefinedIfMissing(readFile(path))
  }

  /** Opens a file to read parts of it. */
  open(path: string): Promise<FileHandle | undefined> {
    return undefinedIfMissing(open(path, 'r'))
  }

  async remove(path: string): Promise<void> {
    this.verifyLock()
    await rm(path, { force: true })
  }

  async move(from: string, to: string): Promise<void> {
    this.verifyLock()
    await undefinedIfMissing(rename(from, to))
  }

  async fileNames(folder: string): Promise<string[]> {
    return (await undefinedIfMissing(readdir(folder))) ?? []
  }

  async folderNames(path: string): Promise<string[]> {
    const entries = (await undefinedIfMissing(readdir(path, { withFileTypes: true }))) ?? []
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  }

  async stamp(path: string): Promise<FileStamp | undefined> {
    const found = await undefinedIfMissing(stat(path))
    return found && { ino: found.ino, createdAt: found.birthtimeMs, size: found.size, mtime: found.mtimeMs }
  }

  /** Clears away what killed writers left. Whoever calls it holds the folder's lock. */
  async removeUnfinished(folder: string): Promise<void> {
    for (const name of await this.fileNames(folder))
      if (name.startsWith(UNFINISHED_PREFIX)) await this.remove(join(folder, name))
  }
}
