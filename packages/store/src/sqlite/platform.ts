import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { openSqliteDriver, type SqliteDriver, type SqliteDriverName } from './driver.js'
import { createFileIfMissing } from './new-file.js'

/** Everything outside of its own code that a store in SQLite uses. The simulation has another platform, on virtual time. */
export interface SqlitePlatform {
  readonly clock: Clock
  /** Runs a function in the next turn of the event loop, after timers and sockets had a turn. */
  runInNextTurn(fn: () => void): void
  /** Opens a connection to a file. */
  openDriver(file: string, name: SqliteDriverName | undefined): Promise<SqliteDriver>
  /** Identifies a file, with its size; undefined if there is none. */
  stat(file: string): { readonly ino: number; readonly size: number } | undefined
  /** Creates a file and its folder with access for the owner only, or restricts the access of existing files. */
  createPrivateFile(file: string): void
  /** How many bytes are free in the file system of a file. */
  readFreeSpace(file: string): Promise<number>
  /** Compresses a text outside of the event loop. */
  deflate(text: string): Promise<Uint8Array>
}

const deflate = promisify(deflateRaw)

/** The platform of a process. */
export const nodePlatform: SqlitePlatform = {
  clock: systemClock,
  runInNextTurn: (fn) => void setImmediate(fn),
  openDriver: openSqliteDriver,
  stat: (file) => statSync(file, { throwIfNoEntry: false }),
  createPrivateFile,
  async readFreeSpace(file) {
    const { bavail, bsize } = await statfs(dirname(file))
    return bavail * bsize
  },
  deflate,
}

/** SQLite uses the mode of the file for its other files. */
function createPrivateFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (!createFileIfMissing(file)) restrictMode(file)
  for (const suffix of ['-wal', '-shm']) restrictMode(file + suffix)
}

function restrictMode(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch {
    // The file does not exist, or belongs to another user. An error is reported when it is used.
  }
}
