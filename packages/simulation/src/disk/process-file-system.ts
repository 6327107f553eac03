import type { FileStatus, FileSystem, OpenFile } from '../../../store/src/files/file-system.js'
import { FileNode, FolderNode, type Inode } from './inodes.js'
import { createSystemError, type DiskWork, type SimulatedDisk } from './simulated-disk.js'

/** The share of writes that write only a part, as the operating system may do at any time. */
const SHORT_WRITE_SHARE = 0.02

const BLOCK_BYTES = 4096
const FREE_BLOCKS = 1_000_000

/** An operation that the device has not finished. */
type PendingOperation = () => void

/** The operations of one process on a disk. */
export interface ProcessFileSystem extends FileSystem {
  /** The process dies: of its running operations some are finished now, and nothing happens after that. */
  kill(): void
  /** Creates an id that no process has used for a name on this disk. */
  createId(): string
}

/** Creates the file system of a process. `onFinished` is called before the process gets the result of an operation. */
export function createProcessFileSystem(
  disk: SimulatedDisk,
  onFinished: () => void = () => {},
): ProcessFileSystem {
  let isAlive = true
  const pending = new Set<PendingOperation>()
  const namesByPath = new Map<string, readonly string[]>()

  /** Makes a change when the device has time for it. Never settles after the process has died. */
  function change<T>(path: string, effect: () => T, work: DiskWork = 'change'): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!isAlive) return
      pending.add(effect)
      disk.schedule(work, () => {
        if (!pending.delete(effect)) return
        onFinished()
        try {
          disk.mayFail(path)
          resolve(effect())
        } catch (error) {
          reject(error as Error)
        }
      })
    })
  }

  /** Reads from the memory of the operating system, which takes no time. */
  function read<T>(path: string, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!isAlive) return
      try {
        disk.mayFail(path)
        resolve(effect())
      } catch (error) {
        reject(error as Error)
      }
    })
  }

  /** The names in a path. Paths are used many times, so they are split once. */
  function namesOf(path: string): readonly string[] {
    let names = namesByPath.get(path)
    if (names === undefined) {
      names = path.split('/').filter((name) => name !== '')
      namesByPath.set(path, names)
    }
    return names
  }

  const nameOf = (path: string): string => namesOf(path).at(-1) ?? ''

  function find(path: string): Inode | undefined {
    let inode: Inode | undefined = disk.root
    for (const name of namesOf(path)) inode = inode instanceof FolderNode ? inode.names.get(name) : undefined
    return inode
  }

  function require(path: string): Inode {
    const inode = find(path)
    if (inode === undefined) throw createSystemError('ENOENT', path)
    return inode
  }

  function requireFile(path: string): FileNode {
    const inode = require(path)
    if (inode instanceof FolderNode) throw createSystemError('EISDIR', path)
    return inode
  }

  function requireFolder(path: string): FolderNode {
    const inode = require(path)
    if (inode instanceof FileNode) throw createSystemError('ENOTDIR', path)
    return inode
  }

  const parentOf = (path: string): FolderNode => requireFolder(path.slice(0, path.lastIndexOf('/')))

  /** Creates a name. @throws ENOSPC on a full disk, most of the time: a folder can have space for another name */
  function create<T extends Inode>(path: string, inode: T): T {
    const folder = parentOf(path)
    if (disk.has('full') && disk.random() < 0.7) throw disk.fail('ENOSPC', path)
    disk.changeNames({ folder, name: nameOf(path), inode })
    return inode
  }

  /** Writes bytes, or a part of them. @throws ENOSPC on a full disk */
  function write(path: string, file: FileNode, bytes: Uint8Array, position: number): number {
    const isFull = disk.has('full')
    const isShort = isFull || disk.random() < SHORT_WRITE_SHARE
    const count = isShort ? Math.floor(disk.random() * (bytes.length + 1)) : bytes.length
    if (isFull && (count === 0 || disk.random() < 0.5)) throw disk.fail('ENOSPC', path)
    file.write(bytes.subarray(0, count), position, disk.changeTime())
    return count
  }

  function openFile(path: string, inode: Inode): OpenFile {
    const file = inode as FileNode
    const flush = () => change(path, () => disk.flush(inode), 'flush')
    return {
      read: (buffer, offset, length, position) =>
        read(path, () => ({
          bytesRead: file.content.copy(
            buffer,
            offset,
            Math.min(position, file.size),
            Math.min(position + length, file.size),
          ),
        })),
      write: (bytes, offset, length, position) => {
        const part = bytes.slice(offset, offset + length)
        // Without a position bytes are appended, or follow those that were written before to a new file.
        return change(path, () => ({ bytesWritten: write(path, file, part, position ?? file.size) }))
      },
      stat: () => read(path, () => statusOf(inode)),
      truncate: (size) => change(path, () => file.truncate(size, disk.changeTime())),
      sync: flush,
      datasync: flush,
      close: async () => {},
    }
  }

  return {
    open: (path, flags) => {
      const open = () => {
        const inode = find(path)
        if (flags === 'wx' && inode !== undefined) throw createSystemError('EEXIST', path)
        if (inode !== undefined) return openFile(path, inode)
        if (flags === 'r' || flags === 'r+') throw createSystemError('ENOENT', path)
        return openFile(path, create(path, disk.createFile()))
      }
      return flags === 'r' || flags === 'r+' ? read(path, open) : change(path, open)
    },
    appendFile: (path, text) =>
      change(path, () => {
        const found = find(path)
        const file = found === undefined ? create(path, disk.createFile()) : requireFile(path)
        const bytes = Buffer.from(text)
        for (let done = 0; done < bytes.length; ) done += write(path, file, bytes.subarray(done), file.size)
      }),
    readFile: (path) => read(path, () => Buffer.from(requireFile(path).content)),
    truncate: (path, size) => change(path, () => requireFile(path).truncate(size, disk.changeTime())),
    rename: (from, to) =>
      change(from, () => {
        const inode = require(from)
        disk.changeNames(
          { folder: parentOf(from), name: nameOf(from), inode: undefined },
          { folder: parentOf(to), name: nameOf(to), inode },
        )
      }),
    rm: (path) =>
      change(path, () => {
        if (find(path) !== undefined)
          disk.changeNames({ folder: parentOf(path), name: nameOf(path), inode: undefined })
      }),
    mkdir: (path) =>
      change(path, () => {
        if (find(path) !== undefined) throw createSystemError('EEXIST', path)
        create(path, disk.createFolder())
      }),
    readdir: (path) =>
      read(path, () =>
        Array.from(requireFolder(path).names, ([name, inode]) => ({
          name,
          isDirectory: () => inode instanceof FolderNode,
        })),
      ),
    stat: (path) => read(path, () => statusOf(require(path))),
    statfs: (path) => read(path, () => ({ bavail: disk.has('full') ? 0 : FREE_BLOCKS, bsize: BLOCK_BYTES })),
    createId: () => disk.createId(),
    kill() {
      isAlive = false
      for (const effect of pending)
        if (disk.random() < 0.5) {
          try {
            effect()
          } catch {
            // The process does not see the error any more.
          }
        }
      pending.clear()
    },
  }
}

const statusOf = (inode: Inode): FileStatus => ({
  ino: inode.number,
  birthtimeMs: inode.createdAt,
  size: inode instanceof FileNode ? inode.size : 0,
  mtimeMs: inode.mtime,
})
