import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  truncate,
} from 'node:fs/promises'

/** What the store needs to know about a file or a folder. */
export interface FileStatus {
  readonly ino: number
  readonly birthtimeMs: number
  readonly size: number
  readonly mtimeMs: number
}

/** An open file or folder. */
export interface OpenFile {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>
  /** Writes at a position; at the end of a file that was opened to append. */
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ bytesWritten: number }>
  stat(): Promise<FileStatus>
  truncate(size: number): Promise<void>
  sync(): Promise<void>
  datasync(): Promise<void>
  close(): Promise<void>
}

/** The functions of `node:fs/promises` that the store uses. A simulation passes those of a simulated disk. */
export interface FileSystem {
  open(path: string, flags: 'r' | 'r+' | 'a+' | 'wx', mode?: number): Promise<OpenFile>
  appendFile(path: string, text: string, options: { mode: number }): Promise<void>
  readFile(path: string): Promise<Buffer>
  truncate(path: string, size: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { force: true }): Promise<void>
  mkdir(path: string, options: { mode: number }): Promise<unknown>
  readdir(path: string, options: { withFileTypes: true }): Promise<{ name: string; isDirectory(): boolean }[]>
  stat(path: string): Promise<FileStatus>
  statfs(path: string): Promise<{ bavail: number; bsize: number }>
}

/** The file system of the operating system. */
export const systemFileSystem: FileSystem = {
  open,
  appendFile,
  readFile,
  truncate,
  rename,
  rm,
  mkdir,
  readdir,
  stat,
  statfs,
}
