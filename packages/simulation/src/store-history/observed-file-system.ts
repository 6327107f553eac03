import type { FileSystem, OpenFile } from '../../../store/src/files/file-system.js'

/** An operation of a process on a disk. */
export interface FileOperation<T = unknown> {
  readonly name: string
  /** The path that is read or changed: the new one of a rename. */
  readonly path: string
  /** Whether the operation changes a file or a name. */
  readonly isChange: boolean
  execute(): Promise<T>
  /** Writes a part of the bytes, for an operation that writes. */
  executePart?(share: number): Promise<unknown>
}

/** Runs the operations of a process. */
export type RunOperation = <T>(operation: FileOperation<T>) => Promise<T>

/** Creates a file system whose operations are run by a function, which can let them fail. */
export function observeFileSystem(fs: FileSystem, run: RunOperation): FileSystem {
  const observe = <T>(name: string, path: string, isChange: boolean, execute: () => Promise<T>) =>
    run({ name, path, isChange, execute })

  const observeFile = (path: string, file: OpenFile): OpenFile => ({
    read: (...args) => observe('read', path, false, () => file.read(...args)),
    write: (bytes, offset, length, position) =>
      run({
        name: 'write',
        path,
        isChange: true,
        execute: () => file.write(bytes, offset, length, position),
        executePart: (share) => file.write(bytes, offset, Math.floor(share * length), position),
      }),
    stat: () => observe('fstat', path, false, () => file.stat()),
    truncate: (size) => observe('ftruncate', path, true, () => file.truncate(size)),
    sync: () => observe('fsync', path, false, () => file.sync()),
    datasync: () => observe('fdatasync', path, false, () => file.datasync()),
    close: () => file.close(),
  })

  return {
    open: async (path, flags, mode) => {
      const file = await observe('open', path, false, () => fs.open(path, flags, mode))
      return observeFile(path, file)
    },
    appendFile: (path, text, options) =>
      run({
        name: 'appendFile',
        path,
        isChange: true,
        execute: () => fs.appendFile(path, text, options),
        executePart: (share) => fs.appendFile(path, text.slice(0, Math.floor(share * text.length)), options),
      }),
    readFile: (path) => observe('readFile', path, false, () => fs.readFile(path)),
    truncate: (path, size) => observe('truncate', path, true, () => fs.truncate(path, size)),
    rename: (from, to) => observe('rename', to, true, () => fs.rename(from, to)),
    rm: (path, options) => observe('rm', path, true, () => fs.rm(path, options)),
    mkdir: (path, options) => observe('mkdir', path, false, () => fs.mkdir(path, options)),
    readdir: (path, options) => observe('readdir', path, false, () => fs.readdir(path, options)),
    stat: (path) => observe('stat', path, false, () => fs.stat(path)),
    statfs: (path) => observe('statfs', path, false, () => fs.statfs(path)),
  }
}
