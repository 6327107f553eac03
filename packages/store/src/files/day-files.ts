import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { DAY_MS } from '@holdfast/records'
import type { Disk } from './disk.js'
import { bufferSource, fileSource, type LineSource } from './lines.js'

const gzipAsync = promisify(gzip)
const gunzipAsync = promisify(gunzip)

/** The last instant whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31)

/** The day of a time, UTC. Days sort as text; a clock far off its time gives the first or the last of them. */
export const dayOf = (time: Date): string =>
  new Date(Math.min(MAX_TIME, Math.max(0, time.getTime()))).toISOString().slice(0, 10)

/** The day so many days later. */
export const dayAfter = (day: string, days = 1): string => dayOf(new Date(Date.parse(day) + days * DAY_MS))

/** A file of one day. */
export interface DayFile {
  day: string
  path: string
  isCompressed: boolean
}

/** The files of one kind of record: `{prefix}_{day}.jsonl`, and `.jsonl.gz` once the day is long over. */
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

  /** Oldest first. Of a day that was being packed when somebody was killed, the file that was there before. */
  async list(): Promise<DayFile[]> {
    const days = new Map<string, DayFile>()
    for (const name of await this.disk.fileNames(this.folder)) {
      const [, prefix, day = '', packed] = /^(.+)_(\d{4}-\d\d-\d\d)\.jsonl(\.gz)?$/.exec(name) ?? []
      if (prefix !== this.prefix || (packed !== undefined && days.has(day))) continue
      days.set(day, { day, path: join(this.folder, name), isCompressed: packed !== undefined })
    }
    return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1))
  }

  /** Undefined where the file has gone meanwhile, and is not to be found packed either. */
  async open({ day, path, isCompressed }: DayFile): Promise<LineSource | undefined> {
    if (!isCompressed) {
      const file = await this.disk.open(path)
      if (file !== undefined) return fileSource(file, (await file.stat()).size)
    }
    const content = await this.disk.read(isCompressed ? path : `${this.path(day)}.gz`)
    return content && bufferSource(await gunzipAsync(content))
  }

  /** Packs what is older than the day before a day. Whoever calls it holds the lock. */
  async compressBefore(day: string): Promise<void> {
    const limit = dayAfter(day, -1)
    for (const file of await this.list()) {
      if (file.isCompressed || file.day >= limit) continue
      const content = await this.disk.read(file.path)
      if (content === undefined) continue
      await this.disk.replace(`${file.path}.gz`, await gzipAsync(content))
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
