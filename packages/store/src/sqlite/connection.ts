import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { HoldfastError } from 'holdfast'
import {
  openSqliteDriver,
  type SqliteDriver,
  type SqliteDriverName,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
} from './driver.js'
import { migrate } from './migrations.js'
import { createFileIfMissing } from './new-file.js'

/** How long SQLite itself waits for a lock before it says BUSY, in milliseconds: the event loop stands still meanwhile. */
const BUSY_TIMEOUT_MS = 4

/** How much of the log is kept before it is brought into the file, in pages of 4 KiB: a bound on how long that takes. */
const CHECKPOINT_PAGES = 1000

/** How many KiB of pages are kept in memory: enough that what a transaction changes is written once, when it is over. */
const CACHE_KIB = 16_000

/** One file, opened. Everything here is synchronous and throws what the driver throws. */
export class SqliteConnection {
  private readonly driver: SqliteDriver
  private readonly statements = new Map<string, SqliteStatement>()
  private durable = true
  private readonly file: string
  /** Which file it is, whatever has its name later. */
  private readonly inode: number

  private constructor(driver: SqliteDriver, file: string) {
    this.driver = driver
    this.file = file
    this.inode = statSync(file).ino
  }

  static async open(file: string, name: SqliteDriverName | undefined): Promise<SqliteConnection> {
    createPrivateFile(file)
    const connection = new SqliteConnection(await openSqliteDriver(file, name), file)
    try {
      connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
      connection.enableWal(file)
      connection.exec('PRAGMA synchronous = FULL')
      connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      connection.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
      // What is deleted holds people's payloads.
      connection.exec('PRAGMA secure_delete = FAST')
      migrate(connection, file)
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }

  private enableWal(file: string): void {
    const { journal_mode: mode } = this.driver.prepare('PRAGMA journal_mode = WAL').get([]) ?? {}
    if (mode !== 'wal')
      throw new HoldfastError(
        'STORE_UNAVAILABLE',
        `the SQLite file ${file} cannot have a write-ahead log; put it on a local disk, not on a network drive`,
        { status: 503 },
      )
  }

  exec(sql: string): void {
    this.driver.exec(sql)
  }

  run(sql: string, ...values: SqliteValue[]): number {
    return this.statement(sql).run(values)
  }

  get<R = SqliteRow>(sql: string, ...values: SqliteValue[]): R | undefined {
    return this.statement(sql).get(values) as R | undefined
  }

  all<R = SqliteRow>(sql: string, ...values: SqliteValue[]): R[] {
    return this.statement(sql).all(values) as R[]
  }

  /** The statement of a text, prepared once. */
  statement(sql: string): SqliteStatement {
    let created = this.statements.get(sql)
    if (created === undefined) this.statements.set(sql, (created = this.driver.prepare(sql)))
    return created
  }

  /**
   * Does work in one transaction that writes. A durable one is on the disk when this returns, whatever happens to the
   * machine; any other is there after a crash of the process, and after one of the machine in order up to some point.
   */
  write<T>(work: () => T, durable: boolean): T {
    this.checkFileExists()
    if (durable !== this.durable) {
      this.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
      this.durable = durable
    }
    return this.transaction('BEGIN IMMEDIATE', work)
  }

  /** SQLite writes on to a file that has lost its name, and nobody would ever find what it wrote. */
  private checkFileExists(): void {
    if (statSync(this.file, { throwIfNoEntry: false })?.ino !== this.inode)
      throw createFileGoneError(this.file)
  }

  /** Whether another file has its name now, such as a backup. */
  isReplaced(): boolean {
    const found = statSync(this.file, { throwIfNoEntry: false })
    return found !== undefined && found.ino !== this.inode
  }

  /** Does work that sees one state of the file, whoever writes meanwhile. */
  read<T>(work: () => T): T {
    return this.transaction('BEGIN', work)
  }

  private transaction<T>(begin: string, work: () => T): T {
    this.run(begin)
    try {
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      this.rollBack()
      throw error
    }
  }

  private rollBack(): void {
    try {
      this.exec('ROLLBACK')
    } catch {
      // After some errors SQLite has rolled back by itself.
    }
  }

  close(): void {
    try {
      // Statements that are still referred to keep the file open, and the log with it, until they are collected.
      this.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Whoever opens the file next reads the log.
    }
    this.removeLogIfReplaced()
    this.statements.clear()
    this.driver.close()
  }

  /**
   * Removes the log of a file that was replaced, where no other connection uses it, because the log of the new file will have
   * its name. Closing alone does not always remove it: libsql keeps the file open until its statements are collected.
   */
  private removeLogIfReplaced(): void {
    try {
      if (this.isReplaced()) this.exec('PRAGMA journal_mode = DELETE')
    } catch {
      // Another connection uses the log; or the log was removed, and the file that lost its name cannot be written to.
    }
  }
}

/** Makes the file and its folder for their owner alone; SQLite gives its other files the modes of the first. */
function createPrivateFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (!createFileIfMissing(file)) restrictMode(file)
  for (const suffix of ['-wal', '-shm']) restrictMode(file + suffix)
}

function restrictMode(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch {
    // It is not there, or it is somebody else's; whether it can be used shows when it is.
  }
}

/** For a file that has lost its name. */
export const createFileGoneError = (file: string): HoldfastError =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    `the SQLite store ${file} was deleted, emptied or moved while it was open; put it back, or put a backup in its place`,
    { status: 503 },
  )

/** @throws where the log of a file that was replaced exists: the process that closes that file last deletes the log by name */
export function checkLogIsGone(file: string): void {
  const [wal, shm] = [`${file}-wal`, `${file}-shm`]
  if (existsSync(wal) || existsSync(shm))
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite store ${file} was replaced, but ${wal} and ${shm} belong to the file before it, which is ` +
        'still open elsewhere; they are deleted when the last process closes it. If they remain, stop all processes that use ' +
        'the store, delete both files and start the processes again',
      { status: 503 },
    )
}

/** For a store that is not open. */
export const createNotOpenError = (file: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file} is not open; call open() first`, {
    status: 503,
  })
