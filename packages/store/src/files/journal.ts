import type { RetrySession } from '@holdfast/records'
import type { Journal, Page, SessionFilter, SessionJournal, TimeRangeFilter } from '../journals.js'
import { dayOf } from './day-files.js'
import { createUnavailableError, type Disk, type FileLock } from './disk.js'
import { LineLog, type LinePosition } from './line-log.js'
import { decodeLine, type JournalLayout, listPage, parseTime } from './pages.js'
import { SerialQueue } from './serial-queue.js'

/** A record to write, with its folder and day. */
interface PendingLine {
  folder: number
  day: string
  text: string
}

/** Records as lines of JSON in one file per day, in one folder or several. */
export class FilesJournal<T, F extends TimeRangeFilter> implements Journal<T, F> {
  protected readonly logs: readonly LineLog[]
  private readonly queue: SerialQueue<readonly PendingLine[], void>
  private compressing: Promise<unknown> = Promise.resolve()
  private readonly disk: Disk
  private readonly lock: FileLock
  protected readonly layout: JournalLayout<T, F>

  constructor(disk: Disk, lock: FileLock, layout: JournalLayout<T, F>) {
    this.disk = disk
    this.lock = lock
    this.layout = layout
    this.logs = layout.folders.map(
      (folder) => new LineLog(disk, folder, layout.prefix, (text) => parseTime(text, layout.timeField)),
    )
    this.queue = new SerialQueue(async (batch) => {
      await this.withStoreErrors(lock.runExclusive(() => this.write(batch.flat())))
      return batch.map(() => undefined)
    })
  }

  async open(): Promise<void> {
    for (const folder of this.layout.folders) await this.disk.makeFolder(folder)
    await this.lock.runExclusive(async () => {
      for (const folder of this.layout.folders) await this.disk.removeUnfinished(folder)
    })
  }

  async append(records: readonly T[]): Promise<void> {
    if (records.length === 0) return
    const { recordFilter, codec, folderOf } = this.layout
    await this.queue.enqueue(
      records.map((record) => ({
        folder: folderOf(record),
        day: dayOf(recordFilter.timeOf(record)),
        text: `${JSON.stringify(codec.encode(record as never))}\n`,
      })),
    )
  }

  /** Converts errors of the disk to STORE_UNAVAILABLE. */
  protected async withStoreErrors<R>(work: Promise<R>): Promise<R> {
    try {
      return await work
    } catch (error) {
      throw createUnavailableError(this.layout.folders.join(', '), error)
    }
  }

  private async write(lines: readonly PendingLine[]): Promise<void> {
    const byFile = new Map<string, PendingLine[]>()
    for (const line of lines) {
      const sameFile = byFile.get(`${line.folder}/${line.day}`)
      if (sameFile === undefined) byFile.set(`${line.folder}/${line.day}`, [line])
      else sameFile.push(line)
    }
    for (const sameFile of byFile.values()) {
      const [first] = sameFile as [PendingLine]
      const log = this.logs[first.folder] as LineLog
      const day = await log.dayFor(first.day)
      const known = await this.disk.stamp(log.files.path(day))
      await log.files.append(day, sameFile.map(({ text }) => text).join(''))
      if (known === undefined) this.compressLater(log, day)
    }
  }

  /** Compresses the files of earlier days after the first record of a new day, without delaying writes. */
  private compressLater(log: LineLog, day: string): void {
    const work = () => this.lock.runExclusive(() => log.files.compressBefore(day))
    // A failed compression is retried on the next day.
    this.compressing = this.compressing.then(work).catch(() => {})
  }

  async list(filter?: F): Promise<Page<T>> {
    return this.withStoreErrors(listPage(this.logs, this.layout, filter))
  }

  expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    return this.withStoreErrors(
      this.lock.runExclusive(async () => {
        const older = await this.expireOlder(limits.before?.getTime() ?? Number.NEGATIVE_INFINITY)
        return older + (await this.expireSurplus(limits.maxEntries ?? Number.POSITIVE_INFINITY))
      }),
    )
  }

  private async expireOlder(limit: number): Promise<number> {
    let deleted = 0
    for (const log of this.logs) {
      const older = (await log.listLines()).filter(({ time }) => time < limit)
      const last = older.at(-1)
      if (last !== undefined) await log.removeBefore(positionAfter(last.position), limit)
      deleted += older.length
    }
    return deleted
  }

  private async expireSurplus(maxEntries: number): Promise<number> {
    const lines = await Promise.all(this.logs.map((log) => log.listLines()))
    const surplus = Math.max(0, lines.reduce((sum, logLines) => sum + logLines.length, 0) - maxEntries)
    // Within a folder the first lines are deleted first. Between folders the time decides, as in lists.
    const deleted = lines.map(() => 0)
    const head = (i: number) => lines[i]?.[deleted[i] as number]?.time ?? Number.POSITIVE_INFINITY
    for (let n = 0; n < surplus; n++) {
      const oldest = deleted.reduce((best, _, i) => (head(i) < head(best) ? i : best), 0)
      deleted[oldest] = (deleted[oldest] as number) + 1
    }
    for (const [i, log] of this.logs.entries()) {
      const last = lines[i]?.[(deleted[i] as number) - 1]
      if (last !== undefined) await log.removeBefore(positionAfter(last.position), null)
    }
    return surplus
  }

  async count(): Promise<number> {
    // The lock keeps overlapping calls from indexing the same lines, and lines of a failed write from being indexed.
    const lines = await this.withStoreErrors(
      this.lock.runExclusive(() => Promise.all(this.logs.map((log) => log.listLines()))),
    )
    return lines.reduce((sum, logLines) => sum + logLines.length, 0)
  }

  async whenIdle(): Promise<void> {
    await this.queue.whenIdle()
    await this.compressing
  }
}

/** The position just after the start of a line. */
const positionAfter = ({ day, offset }: LinePosition): LinePosition => ({ day, offset: offset + 1 })

/** A journal of sessions, which can also be read by id. */
export class FilesSessions extends FilesJournal<RetrySession, SessionFilter> implements SessionJournal {
  get(id: string): Promise<RetrySession | undefined> {
    return this.withStoreErrors(this.findById(id))
  }

  private async findById(id: string): Promise<RetrySession | undefined> {
    const needle = `"session_id":${JSON.stringify(id)}`
    for (const log of this.logs)
      for await (const { text } of log.walk(true, await log.endPosition())) {
        const session = text.includes(needle) ? decodeLine(this.layout, text) : undefined
        if (session?.sessionId === id) return session
      }
    return undefined
  }
}
