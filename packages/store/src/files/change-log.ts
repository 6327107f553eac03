import { join } from 'node:path'
import type { Disk } from './disk.js'
import { fileSource, readForward } from './lines.js'

/** The path of a changed file, relative to the folder of the queue. */
export type ChangedFile = readonly [folder: string, name: string]

const LOG_PREFIX = '.changes-'

/** A new log is started after this many bytes. */
const MAX_LOG_BYTES = 4 * 1024 * 1024

/**
 * A log through which processes notify each other of changed files, so that an index is updated without a scan of all files. It
 * is only a hint and is not flushed: a process that cannot follow it scans the files.
 */
export class ChangeLog {
  private number = 0
  private offset = 0
  private readonly disk: Disk
  private readonly folder: string
  private readonly maxBytes: number

  constructor(disk: Disk, folder: string, maxBytes = MAX_LOG_BYTES) {
    this.disk = disk
    this.folder = folder
    this.maxBytes = maxBytes
  }

  private get path(): string {
    return join(this.folder, LOG_PREFIX + this.number)
  }

  /** Whether no other process has appended to the log. */
  async isCurrent(): Promise<boolean> {
    return (await this.disk.stamp(this.path))?.size === this.offset
  }

  /** The files that other processes changed since the last call; undefined if the log cannot be followed. */
  async read(): Promise<ChangedFile[] | undefined> {
    const file = await this.disk.open(this.path)
    if (file === undefined) return undefined
    const source = fileSource(file, (await file.stat()).size)
    const changed: ChangedFile[] = []
    try {
      for await (const { next, text } of readForward(source, this.offset)) {
        changed.push(JSON.parse(text) as ChangedFile)
        this.offset = next
      }
      return this.offset === source.size ? changed : undefined
    } catch {
      return undefined
    } finally {
      await source.close()
    }
  }

  /** Announces files that will be changed. The caller holds the lock and has called {@link read}. */
  async append(changed: readonly ChangedFile[]): Promise<void> {
    const lines = changed.map((each) => `${JSON.stringify(each)}\n`).join('')
    this.disk.verifyLock()
    await this.disk.fs.appendFile(this.path, lines, { mode: 0o600 })
    this.offset += Buffer.byteLength(lines)
    if (this.offset > this.maxBytes) await this.startNewLog()
  }

  /** Moves to the end of the newest log, before a scan of all files. The caller holds the lock. */
  async catchUp(): Promise<void> {
    const numbers = (await this.disk.fileNames(this.folder))
      .filter((name) => name.startsWith(LOG_PREFIX))
      .map((name) => Number(name.slice(LOG_PREFIX.length)))
    this.number = Math.max(0, ...numbers)
    this.offset = 0
    if ((await this.read()) === undefined) await this.startNewLog()
  }

  /** Starts a log with a new number. Processes that follow the old log find that it is deleted. */
  private async startNewLog(): Promise<void> {
    this.disk.verifyLock()
    const old = this.path
    this.number++
    this.offset = 0
    await this.disk.fs.appendFile(this.path, '', { mode: 0o600 })
    await this.disk.remove(old)
  }
}
