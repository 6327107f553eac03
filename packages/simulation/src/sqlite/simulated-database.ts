import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSqliteDriver, type SqliteDriver } from '../../../store/src/sqlite/driver.js'
import { createFileIfMissing } from '../../../store/src/sqlite/new-file.js'
import type { Choices } from '../engine/seeded-random.js'
import type { SqliteFault } from '../scenario/scenario.js'

/** The path of the file, as the store knows it. The real path differs in each run and must not appear in messages. */
export const DATABASE_FILE = '/sqlite/holdfast.db'

/** The kinds of statements, which fail in different ways. */
export type StatementKind = 'begin' | 'commit' | 'write' | 'read' | 'other'

/** Primary result codes of SQLite. */
const CODES = { SQLITE_BUSY: 5, SQLITE_IOERR: 10, SQLITE_FULL: 13 } as const

type SqliteCode = keyof typeof CODES

/** Creates an error with the fields of both drivers. */
export const createSqliteError = (code: SqliteCode, message: string): Error =>
  Object.assign(new Error(`${message} (simulated)`), { code, errcode: CODES[code], rawCode: CODES[code] })

/** The share of statements that fail during a fault. */
const SHARES: Readonly<Record<SqliteFault, number>> = { error: 0.3, flaky: 0.03, full: 0.6, locked: 1 }

/** The size of the log after which it is copied to the file, as SQLite does by itself. */
const MAX_LOG_BYTES = 4 * 2 ** 20

/** Ends processes or threads at a commit. */
interface ArmedCrash {
  /** How many commits are left, with the one that it hits. */
  remaining: number
  readonly isBefore: boolean
  readonly crash: () => void
}

/** Loads the driver of SQLite, once for all simulations. */
let loadedDriver: Promise<(file: string) => SqliteDriver> | undefined

export type OpenRealDriver = (file: string) => SqliteDriver

export const loadRealDriver = (): Promise<OpenRealDriver> => (loadedDriver ??= loadSqliteDriver())

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/**
 * The SQLite file of one machine, which the real library reads and writes in a temporary folder. A commit with
 * `synchronous = FULL` and a checkpoint flush everything. A power failure leaves what was flushed: the log is only appended to
 * between two checkpoints, so it is cut to its size at the last flush.
 */
export class SimulatedDatabase {
  /** How many statements have failed, how many commits were made, and how many of them were lost. */
  failureCount = 0
  commitCount = 0
  /** Called after everything that was committed has been flushed. */
  onFlushed: () => void = () => {}
  private readonly openReal: OpenRealDriver
  private readonly choices: Choices
  private readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-simulation-'))
  /** The number of the folder with the file; a power failure creates another one. */
  private generation = 0
  private file = ''
  private logFile = ''
  /** The file when it first had content, or when it was last seen without. */
  private fileStat: { readonly ino: number; readonly size: number } | undefined
  private readerDriver: SqliteDriver | undefined
  private flushedLogSize = 0
  private readonly unflushedTables = new Set<string>()
  private readonly faults = new Map<SqliteFault, number>()
  private crashes: ArmedCrash[] = []

  constructor(openReal: OpenRealDriver, choices: Choices) {
    this.openReal = openReal
    this.choices = choices
    this.createFolder()
  }

  /** The real path of a path that the store knows. */
  realPath(file: string): string {
    return this.path(file.slice(DATABASE_FILE.lastIndexOf('/') + 1))
  }

  private path(name: string): string {
    return join(this.folder, String(this.generation), name)
  }

  /** The machine has another folder for its file. */
  private createFolder(): void {
    mkdirSync(this.path(''))
    this.file = this.realPath(DATABASE_FILE)
    this.logFile = `${this.file}-wal`
    this.fileStat = undefined
  }

  stat(file: string): { ino: number; size: number } | undefined {
    if (file !== DATABASE_FILE) return statSync(this.realPath(file), { throwIfNoEntry: false })
    // Nothing replaces or empties the file of a machine, and the store asks for it before each transaction.
    if (this.fileStat === undefined || this.fileStat.size === 0)
      this.fileStat = statSync(this.file, { throwIfNoEntry: false })
    return this.fileStat
  }

  createFile(): void {
    createFileIfMissing(this.file)
  }

  /** Opens a connection without flushes, because only the simulated power failure can lose something. */
  open(): SqliteDriver {
    const driver = this.openReal(this.file)
    driver.exec('PRAGMA synchronous = OFF')
    return driver
  }

  /**
   * A connection that sees what is committed, independent of the store. It also keeps SQLite from deleting the log when the store
   * closes its connection. Undefined before the store has created the tables.
   */
  reader(): SqliteDriver | undefined {
    if (this.readerDriver !== undefined) return this.readerDriver
    if (sizeOf(this.file) === 0) return undefined
    const driver = this.open()
    const tables = driver
      .prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'dead_letters'")
      .get([])
    if (tables?.n === 1) this.readerDriver = driver
    else driver.close()
    return this.readerDriver
  }

  beginFault(fault: SqliteFault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }

  endFault(fault: SqliteFault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) - 1)
  }

  private has(fault: SqliteFault): boolean {
    return (this.faults.get(fault) ?? 0) > 0
  }

  /** A number for decisions about statements. */
  random(): number {
    return this.choices.random()
  }

  /** @throws an error of SQLite while a fault lasts */
  mayFail(kind: StatementKind): void {
    if (this.has('locked') && kind === 'begin') this.fail('SQLITE_BUSY', 'database is locked')
    if (this.has('full') && (kind === 'write' || kind === 'commit') && this.choices.chance(SHARES.full))
      this.fail('SQLITE_FULL', 'database or disk is full')
    const fault = this.has('error') ? 'error' : this.has('flaky') ? 'flaky' : undefined
    if (fault !== undefined && this.choices.chance(SHARES[fault])) this.fail('SQLITE_IOERR', 'disk I/O error')
  }

  private fail(code: SqliteCode, message: string): never {
    this.failureCount++
    throw createSqliteError(code, message)
  }

  /** Calls `crash` at a commit: the first one from now on has number 1. */
  crashAtCommit(number: number, isBefore: boolean, crash: () => void): void {
    this.crashes.push({ remaining: number, isBefore, crash })
  }

  /** Forgets the crashes that have not happened. */
  disarmCrashes(): void {
    this.crashes = []
  }

  /** A transaction is about to be committed. Crashes that come before the commit happen now. */
  beforeCommit(): void {
    this.runCrashes(true)
  }

  /** A transaction was committed. */
  onCommitted(driver: SqliteDriver, isFlushed: boolean, tables: Iterable<string>): void {
    this.commitCount++
    const logSize = sizeOf(this.logFile)
    if (isFlushed) this.setFlushed(logSize)
    else for (const table of tables) this.unflushedTables.add(table)
    if (logSize > MAX_LOG_BYTES) {
      driver.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      this.onCheckpoint()
    }
    this.runCrashes(false)
  }

  /** A checkpoint has run. It flushes everything if it could empty the log. */
  onCheckpoint(): void {
    if (sizeOf(this.logFile) === 0) this.setFlushed(0)
  }

  private setFlushed(logSize: number): void {
    this.flushedLogSize = logSize
    this.unflushedTables.clear()
    this.onFlushed()
  }

  /** The tables with changes that a power failure would lose. */
  get unflushed(): ReadonlySet<string> {
    return this.unflushedTables
  }

  private runCrashes(isBefore: boolean): void {
    if (this.crashes.length === 0) return
    const due: ArmedCrash[] = []
    for (const one of this.crashes) if (one.isBefore === isBefore && --one.remaining <= 0) due.push(one)
    this.crashes = this.crashes.filter((one) => !due.includes(one))
    for (const { crash } of due) crash()
  }

  /** The machine has lost its power after its process has died. */
  losePower(): void {
    this.reader()
    const from = this.file
    const isCreated = sizeOf(from) > 0
    this.generation++
    this.createFolder()
    const logSize = sizeOf(`${from}-wal`)
    if (isCreated) copyFileSync(from, this.file)
    if (isCreated && logSize > 0) {
      copyFileSync(`${from}-wal`, this.logFile)
      truncateSync(this.logFile, Math.min(logSize, this.flushedLogSize))
    }
    this.closeReader()
    rmSync(join(from, '..'), { recursive: true, force: true })
    this.unflushedTables.clear()
  }

  private closeReader(): void {
    this.readerDriver?.close()
    this.readerDriver = undefined
  }

  /** Deletes the files. */
  remove(): void {
    this.closeReader()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
