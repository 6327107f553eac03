import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { HoldfastError } from 'holdfast'
import { type Driver, type DriverName, openDriver, type Row, type Statement, type Value } from './driver.js'
import { migrate } from './migrations.js'
import { makeFile } from './new-file.js'

/** How long SQLite itself waits for a lock before it says BUSY, in milliseconds: the event loop stands still meanwhile. */
const PATIENCE = 4

/** How much of the log is kept before it is brought into the file, in pages of 4 KiB: a bound on how long that takes. */
const CHECKPOINT = 1000

/** How many KiB of pages are kept in memory: enough that what a transaction changes is written once, when it is over. */
const CACHE = 16_000

/** One file, opened. Everything here is synchronous and throws what the driver throws. */
export class Connection {
  private readonly driver: Driver
  private readonly statements = new Map<string, Statement>()
  private durable = true
  private readonly file: string
  /** Which file it is, whatever has its name later. */
  private readonly inode: number

  private constructor(driver: Driver, file: string) {
    this.driver = driver
    this.file = file
    this.inode = statSync(file).ino
  }

  static async open(file: string, name: DriverName | undefined): Promise<Connection> {
    prepareFile(file)
    const connection = new Connection(await openDriver(file, name), file)
    try {
      connection.exec(`PRAGMA busy_timeout = ${PATIENCE}`)
      connection.useLog(file)
      connection.exec('PRAGMA synchronous = FULL')
      connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT}`)
      connection.exec(`PRAGMA cache_size = -${CACHE}`)
      // What is deleted holds people's payloads.
      connection.exec('PRAGMA secure_delete = FAST')
      migrate(connection, file)
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }

  private useLog(file: string): void {
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

  run(sql: string, ...values: Value[]): number {
    return this.statement(sql).run(values)
  }

  get<R = Row>(sql: string, ...values: Value[]): R | undefined {
    return this.statement(sql).get(values) as R | undefined
  }

  all<R = Row>(sql: string, ...values: Value[]): R[] {
    return this.statement(sql).all(values) as R[]
  }

  /** The statement of a text, prepared once. */
  statement(sql: string): Statement {
    let made = this.statements.get(sql)
    if (made === undefined) this.statements.set(sql, (made = this.driver.prepare(sql)))
    return made
  }

  /**
   * Does work in one transaction that writes. A durable one is on the disk when this returns, whatever happens to the
   * machine; any other is there after a crash of the process, and after one of the machine in order up to some point.
   */
  write<T>(work: () => T, durable: boolean): T {
    this.checkPlace()
    if (durable !== this.durable) {
      this.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
      this.durable = durable
    }
    return this.transaction('BEGIN IMMEDIATE', work)
  }

  /** SQLite writes on to a file that has lost its name, and nobody would ever find what it wrote. */
  private checkPlace(): void {
    if (statSync(this.file, { throwIfNoEntry: false })?.ino !== this.inode) throw gone(this.file)
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
    this.statements.clear()
    this.driver.close()
  }
}

/** Makes the file and its folder for their owner alone; SQLite gives its other files the modes of the first. */
function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (!makeFile(file)) protect(file)
  for (const suffix of ['-wal', '-shm']) protect(file + suffix)
}

function protect(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch {
    // It is not there, or it is somebody else's; whether it can be used shows when it is.
  }
}

/** For a file that has lost its name. */
export const gone = (file: string): HoldfastError =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    `the SQLite store ${file} was deleted, emptied or moved while it was open; put it back, or put a backup in its place`,
    { status: 503 },
  )

/** For a store that is not open. */
export const notOpen = (file: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file} is not open; call open() first`, {
    status: 503,
  })
