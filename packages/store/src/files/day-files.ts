import { join } from 'node:path'
import { DAY_MS } from '@holdfast/records'
import type { Disk } from './disk.js'
import { bufferSource, fileSource, type LineSource } from './lines.js'

/** The last day whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31)

/** The UTC day of a time. Days sort as text; a time outside of 1970 to 9999 becomes the first or the last day. */
export const dayOf = (time: Date): string =>
  new Date(Math.min(MAX_TIME, Math.max(0, time.getTime()))).toISOString().slice(0, 10)

/** The day a number of days later. */
export const dayAfter = (day: string, days = 1): string => dayOf(new Date(Date.parse(day) + days * DAY_MS))

/** A file of one day. */
export interface DayFile {
  day: string
  path: string
  isCompressed: boolean
}

/** The files of one kind of record: `{prefix}_{day}.jsonl`, and `.jsonl.gz` for days before yesterday. */
export class DayFiles {
  readonly folder: string
  private readonly disk: Disk
  private readonly prefix: string

  constructor(disk: Disk, folder: string, prefix: string) {
    this.disk = disk
    this.folder = folder
    this.prefix = prefix
  }

  path(day: string): string {
    return join(this.folder, `${this.prefix}_${day}.jsonl`)
  }

  /** Lists the files, oldest first. If a process was killed during compression, the uncompressed file is used. */
  async list(): Promise<DayFile[]> {
    const days = new Map<string, DayFile>()
    for (const name of await this.disk.fileNames(this.folder)) {
      const [, prefix, day = '', compressed] = /^(.+)_(\d{4}-\d\d-\d\d)\.jsonl(\.gz)?$/.exec(name) ?? []
      if (prefix !== this.prefix || (compressed !== undefined && days.has(day))) continue
      days.set(day, { day, path: join(this.folder, name), isCompressed: compressed !== undefined })
    }
    return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1))
  }

  /** Opens a file; undefined if it was deleted meanwhile, and not compressed. */
  async open({ day, path, isCompressed }: DayFile): Promise<LineSource | undefined> {
    if (!isCompressed) {
      const file = await this.disk.open(path)
      if (file !== undefined) return fileSource(file, (await file.stat()).size)
    }
    const content = await this.disk.read(isCompressed ? path : `${this.path(day)}.gz`)
    return content && bufferSource(await this.disk.decompress(content))
  }

  /** Compresses the files of all days before the day before this one. The caller holds the lock. */
  async compressBefore(day: string): Promise<void> {
    const limit = dayAfter(day, -1)
    for (const file of await this.list()) {
      if (file.isCompressed || file.day >= limit) continue
      const content = await this.disk.read(file.path)
      if (content === undefined) continue
      await this.disk.replace(`${file.path}.gz`, await this.disk.compress(content))
      await this.disk.syncFolder(this.folder)
      await this.disk.remove(file.path)
    }
  }

  async append(day: string, lines: string): Promise<void> {
    await this.disk.append(this.path(day), lines)
  }

  async remove({ path, day }: DayFile): Promise<void> {
    await this.disk.remove(path)
    await this.disk.remove(`${this.path(day)}.gz`)
  }
}
