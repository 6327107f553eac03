import { HoldfastError } from 'holdfast'
import type { SqliteDriver, SqliteDriverName, SqliteRow, SqliteStatement } from './driver.js'
import { migrate } from './migrations.js'
import { nodePlatform, type SqlitePlatform } from './platform.js'
import {
  BEGIN_READ,
  BEGIN_WRITE,
  CHECKPOINT_AND_TRUNCATE,
  COMMIT,
  CONNECTION_SETTINGS,
  DISABLE_WAL,
  DO_NOT_FLUSH_COMMITS,
  ENABLE_INCREMENTAL_VACUUM,
  ENABLE_WAL,
  FLUSH_COMMITS,
  ROLLBACK,
  SET_BUSY_TIMEOUT,
} from './statements/connection.js'
import type { SqliteValue } from './statements/parameters.js'

/** A connection to one file. Everything is synchronous and throws the errors of the driver. */
export class SqliteConnection {
  private readonly driver: SqliteDriver
  private readonly statements = new Map<string, SqliteStatement>()
  private isDurable = true
  private readonly file: string
  /** Identifies the file, because another file may get its name later. */
  private readonly inode: number | undefined

  private readonly platform: SqlitePlatform

  private constructor(driver: SqliteDriver, file: string, platform: SqlitePlatform) {
    this.driver = driver
    this.file = file
    this.platform = platform
    this.inode = platform.stat(file)?.ino
  }

  static async open(
    file: string,
    name: SqliteDriverName | undefined,
    platform: SqlitePlatform = nodePlatform,
  ): Promise<SqliteConnection> {
    platform.createPrivateFile(file)
    const connection = new SqliteConnection(await platform.openDriver(file, name), file, platform)
    try {
      connection.exec(SET_BUSY_TIMEOUT)
      // Before the log is enabled, because that writes the first page. In another file it would need the write lock.
      if (platform.stat(file)?.size === 0) connection.exec(ENABLE_INCREMENTAL_VACUUM)
      connection.enableWal(file)
      for (const setting of CONNECTION_SETTINGS) connection.exec(setting)
      migrate(connection, file)
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }

  private enableWal(file: string): void {
    const { journal_mode: mode } = this.driver.prepare(ENABLE_WAL).get([]) ?? {}
    if (mode !== 'wal')
      throw new HoldfastError(
        'STORE_UNAVAILABLE',
        `the SQLite file ${file} does not support a write-ahead log; use a local disk, not a network drive`,
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

  /** Returns the prepared statement of a text, which is prepared once. */
  statement(sql: string): SqliteStatement {
    let created = this.statements.get(sql)
    if (created === undefined) this.statements.set(sql, (created = this.driver.prepare(sql)))
    return created
  }

  /**
   * Runs work in one write transaction. A durable transaction is on the disk when this returns. Another one survives a crash of the
   * process; after a crash of the machine, the last of them may be lost, always in order.
   */
  write<T>(work: () => T, isDurable: boolean): T {
    this.checkFileExists()
    if (isDurable !== this.isDurable) {
      this.exec(isDurable ? FLUSH_COMMITS : DO_NOT_FLUSH_COMMITS)
      this.isDurable = isDurable
    }
    return this.transaction(BEGIN_WRITE, work)
  }

  /** SQLite continues to write to a deleted file, and the records would be lost. */
  private checkFileExists(): void {
    const found = this.platform.stat(this.file)
    if (found === undefined || found.ino !== this.inode) throw createFileGoneError(this.file)
  }

  /** Whether the file was replaced, for example by a backup. */
  isReplaced(): boolean {
    const found = this.platform.stat(this.file)
    return found !== undefined && found.ino !== this.inode
  }

  /** Runs work that sees one state of the file, although other processes may write meanwhile. */
  read<T>(work: () => T): T {
    return this.transaction(BEGIN_READ, work)
  }

  private transaction<T>(begin: string, work: () => T): T {
    this.run(begin)
    try {
      const result = work()
      this.run(COMMIT)
      return result
    } catch (error) {
      this.rollBack()
      throw error
    }
  }

  private rollBack(): void {
    try {
      this.exec(ROLLBACK)
    } catch {
      // After some errors SQLite has rolled back already.
    }
  }

  /** Copies the log to the file and empties it, unless another connection reads from it. */
  checkpoint(): void {
    try {
      this.exec(CHECKPOINT_AND_TRUNCATE)
    } catch {
      // A later checkpoint, or the next connection, reads the log.
    }
  }

  close(): void {
    // Referenced statements keep the file and its log open until they are garbage collected.
    this.checkpoint()
    this.removeLogIfReplaced()
    this.statements.clear()
    this.driver.close()
  }

  /**
   * Removes the log of a replaced file if no other connection uses it, because the log of the new file will have the same name.
   * Closing alone does not always remove it: libsql keeps the file open until its statements are garbage collected.
   */
  private removeLogIfReplaced(): void {
    try {
      if (this.isReplaced()) this.exec(DISABLE_WAL)
    } catch {
      // Another connection uses the log, or the log was removed and the replaced file cannot be written.
    }
  }
}

/** The error for a file that was deleted or moved. */
export const createFileGoneError = (file: string): HoldfastError =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    `the SQLite store ${file} was deleted, emptied or moved while it was open; put it back, or restore a backup`,
    { status: 503 },
  )

/** @throws STORE_UNAVAILABLE if the log of a replaced file exists: the last process that closes that file deletes it by name */
export function checkLogIsGone(file: string, platform: SqlitePlatform): void {
  const [wal, shm] = [`${file}-wal`, `${file}-shm`]
  if (platform.stat(wal) !== undefined || platform.stat(shm) !== undefined)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite store ${file} was replaced, but ${wal} and ${shm} belong to the file before it, which is ` +
        'still open elsewhere; they are deleted when the last process closes it. If they remain, stop all processes that use ' +
        'the store, delete both files and start the processes again',
      { status: 503 },
    )
}

/** The error for a store that is not open. */
export const createNotOpenError = (file: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file} is not open; call open() first`, {
    status: 503,
  })
