import { compareRows } from '../ordering.js'
import { parseOrUndefined } from '../readable-rows.js'
import type { MetricsRow, MetricsStore } from '../store.js'
import { type DayFile, DayFiles, dayAfter, dayOf } from './day-files.js'
import { createUnavailableError, type Disk, type FileLock } from './disk.js'
import { readForward } from './lines.js'
import { SerialQueue } from './serial-queue.js'

/** After this many appended lines a file is rewritten with the last version of each row. */
const COMPACT_AFTER_LINES = 20_000

/** Rows as lines of JSON in one file per day. A changed row is appended again, and its last version counts. */
export class FilesMetrics implements MetricsStore {
  private readonly files: DayFiles
  private readonly queue: SerialQueue<readonly MetricsRow[], void>
  private readonly appendedLines = new Map<string, number>()
  private readonly disk: Disk
  private readonly lock: FileLock
  private readonly folder: string

  constructor(disk: Disk, lock: FileLock, folder: string) {
    this.disk = disk
    this.lock = lock
    this.folder = folder
    this.files = new DayFiles(disk, folder, 'metrics')
    this.queue = new SerialQueue((batch) =>
      this.withStoreErrors(() => lock.runExclusive(() => this.write(batch.flat()))).then(() =>
        batch.map(() => undefined),
      ),
    )
  }

  private async withStoreErrors<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      throw createUnavailableError(this.folder, error)
    }
  }

  async save(rows: readonly MetricsRow[]): Promise<void> {
    if (rows.length > 0) await this.queue.enqueue(rows)
  }

  private async write(rows: readonly MetricsRow[]): Promise<void> {
    const days = new Map<string, MetricsRow[]>()
    for (const row of rows) {
      const day = dayOf(new Date(row.start))
      const sameDay = days.get(day)
      if (sameDay === undefined) days.set(day, [row])
      else sameDay.push(row)
    }
    for (const [day, sameDay] of days) {
      await this.files.append(day, serializeRows(sameDay))
      const appended = (this.appendedLines.get(day) ?? 0) + sameDay.length
      this.appendedLines.set(day, appended)
      if (appended < COMPACT_AFTER_LINES) continue
      this.appendedLines.delete(day)
      const file = { day, path: this.files.path(day), isCompressed: false }
      await this.rewrite(file, [...(await this.read(file)).values()])
    }
  }

  private async rewrite(file: DayFile, rows: readonly MetricsRow[]): Promise<void> {
    if (rows.length === 0) await this.files.remove(file)
    else await this.disk.replace(file.path, serializeRows(rows))
    await this.disk.syncFolder(this.folder)
  }

  private async read(file: DayFile): Promise<Map<string, MetricsRow>> {
    const rows = new Map<string, MetricsRow>()
    const source = await this.files.open(file)
    if (source === undefined) return rows
    try {
      for await (const { text } of readForward(source, 0)) {
        const row = parseRow(text)
        if (row !== undefined) rows.set(JSON.stringify([row.series, row.start, row.node]), row)
      }
    } finally {
      await source.close()
    }
    return rows
  }

  load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]> {
    const { from, to, prefix = '' } = range
    return this.withStoreErrors(async () => {
      const found: MetricsRow[] = []
      for (const file of await this.files.list()) {
        if (Date.parse(dayAfter(file.day)) <= from || Date.parse(file.day) >= to) continue
        for (const row of (await this.read(file)).values())
          if (row.start >= from && row.start < to && row.series.startsWith(prefix)) found.push(row)
      }
      return found.sort((a, b) => a.start - b.start || compareRows(a, b))
    })
  }

  expire(before: number): Promise<number> {
    return this.withStoreErrors(() =>
      this.lock.runExclusive(async () => {
        let deleted = 0
        for (const file of await this.files.list()) {
          if (Date.parse(file.day) >= before) break
          const rows = [...(await this.read(file)).values()]
          const kept = rows.filter(({ start }) => start >= before)
          deleted += rows.length - kept.length
          if (kept.length < rows.length) await this.rewrite(file, kept)
        }
        return deleted
      }),
    )
  }

  whenIdle(): Promise<void> {
    return this.queue.whenIdle()
  }
}

const serializeRows = (rows: readonly MetricsRow[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('')

/** The row of a line; undefined for a partial line of a process that was killed, and for one with other content. */
function parseRow(text: string): MetricsRow | undefined {
  const row = parseOrUndefined(text, (line) => JSON.parse(line) as Partial<MetricsRow> | null)
  const { series, start, node, data } = Object(row) as Partial<MetricsRow>
  return typeof series === 'string' && typeof start === 'number' && typeof node === 'string'
    ? { series, start, node, data }
    : undefined
}
