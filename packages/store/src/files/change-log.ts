import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Disk } from './disk.js'
import { fileSource, readForward } from './lines.js'

/** A file that was changed: its folder and name below the queue's folder. */
export type ChangedFile = readonly [folder: string, name: string]

const LOG_PREFIX = '.changes-'

/** So many bytes, and a new log is begun. */
const MAX_LOG_BYTES = 4 * 1024 * 1024

/**
 * What processes tell each other of their changes, so that an index follows without looking at every file. It says
 * nothing that the files do not: it needs not be flushed, and whoever has lost the thread looks at the files.
 */
export class ChangeLog {
  private number = 0
  private offset = 0
  private readonly disk: Disk
  private readonly folder: string
  private readonly maxBytes: number

  constructor(disk: Disk, folder: string, longest = MAX_LOG_BYTES) {
    this.disk = disk
    this.folder = folder
    this.maxBytes = longest
  }

  private get path(): string {
    return join(this.folder, LOG_PREFIX + this.number)
  }

  /** Whether nothing was added by others. */
  async isCurrent(): Promise<boolean> {
    return (await this.disk.stamp(this.path))?.size === this.offset
  }

  /** What others changed since the last time; undefined where that cannot be told. */
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

  /** Says what is about to be changed. Whoever calls it holds the lock and has read. */
  async append(changed: readonly ChangedFile[]): Promise<void> {
    const lines = changed.map((each) => `${JSON.stringify(each)}\n`).join('')
    this.disk.verifyLock()
    await appendFile(this.path, lines, { mode: 0o600 })
    this.offset += Buffer.byteLength(lines)
    if (this.offset > this.maxBytes) await this.startNewLog()
  }

  /** Stands at the end of the newest log: for whoever is about to look at every file. Holds the lock. */
  async catchUp(): Promise<void> {
    const numbers = (await this.disk.fileNames(this.folder))
      .filter((name) => name.startsWith(LOG_PREFIX))
      .map((name) => Number(name.slice(LOG_PREFIX.length)))
    this.number = Math.max(0, ...numbers)
    this.offset = 0
    if ((await this.read()) === undefined) await this.startNewLog()
  }

  /** Begins a new log with a number that was never used. Whoever followed the old one finds it gone. */
  private async startNewLog(): Promise<void> {
    this.disk.verifyLock()
    const old = this.path
    this.number++
    this.offset = 0
    await appendFile(this.path, '', { mode: 0o600 })
    await this.disk.remove(old)
  }
}
