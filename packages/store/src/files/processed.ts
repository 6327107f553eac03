import { join } from 'node:path'
import type { DeadLetter } from '@holdfast/records'
import { completedAt, dayOf } from '../dead-letter-rules.js'
import { createUnavailableError, type Disk, type FileStamp } from './disk.js'
import { fileSource } from './lines.js'

const ARRAY_END = '\n]\n'

/** The id of a completed entry, with the day of its completion. */
export interface ProcessedId {
  readonly id: string
  readonly day: number
}

export const toProcessedId = (entry: DeadLetter): ProcessedId => ({
  id: entry.dlqId,
  day: dayOf(completedAt(entry)),
})

/** The day on which the ids from a position on were completed, up to the position of the next one. */
type DayRun = readonly [from: number, day: number]

const isDayRun = (value: unknown): value is DayRun =>
  Array.isArray(value) && value.length === 2 && value.every(Number.isInteger)

const serializeIds = (ids: Iterable<string>): string =>
  Array.from(ids, (id) => `\n${JSON.stringify(id)}`).join(',')

const isSameFile = (a: FileStamp | undefined, b: FileStamp | undefined): boolean =>
  a?.ino === b?.ino && a?.createdAt === b?.createdAt

/**
 * The ids of completed entries: one JSON array with one id per line. An id is added by overwriting the closing bracket, so that
 * the cost does not depend on the number of ids. Readers ignore the partial line of a killed process, and the next write
 * overwrites it. A second file has the days on which the ids were completed, in the same order. It changes once per day.
 */
export class ProcessedIds {
  private ids = new Set<string>()
  /** The offset after the last complete id; -1 if the file has another layout and must be rewritten. */
  private end = -1
  /** The file as it was read or written last; undefined if it must be read. */
  private stamp: FileStamp | undefined
  private isRead = false
  private readonly disk: Disk
  private readonly folder: string
  private readonly path: string
  private readonly daysPath: string
  private readonly warn: (line: string) => void

  constructor(disk: Disk, folder: string, warn: (line: string) => void) {
    this.disk = disk
    this.folder = folder
    this.path = join(folder, '.processed_ids.json')
    this.daysPath = join(folder, '.processed_days.json')
    this.warn = warn
  }

  has(id: string): boolean {
    return this.ids.has(id)
  }

  /** Reads the ids that other processes have added, and forgets those that they have deleted. */
  async refresh(): Promise<void> {
    const stamp = await this.disk.stamp(this.path)
    const isSame = this.isRead && isSameFile(stamp, this.stamp)
    if (isSame && stamp?.size === this.stamp?.size) return
    const hasGrown = isSame && this.end > 1 && (stamp?.size ?? 0) > (this.stamp?.size ?? 0)
    // If the file cannot be read, the ids and their end are those of another version, and the next call must read it.
    this.isRead = false
    if (!(hasGrown && this.readLines(await this.textFrom(this.end), this.end, this.ids))) await this.readAll()
    this.stamp = stamp
    this.isRead = true
  }

  private async readAll(): Promise<void> {
    const text = await this.textFrom(0)
    const ids = new Set<string>()
    if (text.startsWith('[') && this.readLines(text.slice(1), 1, ids)) this.ids = ids
    else this.readAnyArray(text, ids)
  }

  private async textFrom(offset: number): Promise<string> {
    const file = await this.disk.open(this.path)
    if (file === undefined) return ''
    const source = fileSource(file, (await file.stat()).size)
    try {
      return (await source.read(offset, source.size - offset)).toString()
    } finally {
      await source.close()
    }
  }

  /** Reads lines after the last complete id. False if the file has another layout. */
  private readLines(text: string, from: number, into: Set<string>): boolean {
    const [first, ...lines] = text.split('\n')
    if (first !== '' && first !== ',') return false
    let end = from
    for (const [i, line] of lines.entries()) {
      const [id, length] = parseIdLine(line)
      if (id === undefined) {
        // A bracket ends the list, and only the last line can be partial.
        if (line !== ']' && i < lines.length - 1) return false
        break
      }
      into.add(id)
      end += length + (end > 1 ? 2 : 1)
    }
    this.end = end
    return true
  }

  /** Reads a JSON array in any layout, for a file that another program wrote. Of a damaged file, the readable ids are used. */
  private readAnyArray(text: string, readable: ReadonlySet<string>): void {
    this.end = -1
    if (text === '') return
    try {
      const ids: unknown = JSON.parse(text)
      if (!Array.isArray(ids)) throw new TypeError('expected an array')
      this.ids = new Set(ids.filter((id) => typeof id === 'string'))
    } catch (error) {
      for (const id of readable) this.ids.add(id)
      this.warn(
        `${this.path} is not a list of ids (${String(error)}); it is rebuilt from the completed entries`,
      )
    }
  }

  /** Adds new ids. The caller holds the lock. */
  async add(completed: readonly ProcessedId[]): Promise<void> {
    if (completed.length === 0) return
    try {
      // Another process may have deleted ids, which moves the end of the list.
      await this.refresh()
      const added = [...new Map(completed.map((one) => [one.id, one])).values()].filter(
        ({ id }) => !this.ids.has(id),
      )
      if (added.length > 0) await this.append(added)
    } catch (error) {
      this.isRead = false
      throw createUnavailableError(this.path, error)
    }
  }

  private async append(added: readonly ProcessedId[]): Promise<void> {
    // The days are written first: ids without a day would get an earlier one.
    await this.addDays(added)
    const ids = added.map(({ id }) => id)
    if (this.end < 0) {
      await this.replace([...this.ids, ...ids])
      return
    }
    const text = `${this.end > 1 ? ',' : ''}${serializeIds(ids)}`
    await this.disk.overwrite(this.path, this.end, text + ARRAY_END)
    const stamp = await this.disk.stamp(this.path)
    // Another process that took over the lock may have added ids, so that the stamp is not that of this version.
    this.disk.verifyLock()
    this.end += Buffer.byteLength(text)
    this.stamp = stamp
    for (const id of ids) this.ids.add(id)
  }

  private async replace(ids: readonly string[]): Promise<void> {
    await this.disk.replace(this.path, `[${serializeIds(ids)}${ARRAY_END}`)
    await this.disk.syncFolder(this.folder)
    this.isRead = false
    await this.refresh()
  }

  /**
   * Deletes the ids that were completed before a day, except those that are kept. Returns how many. The caller holds the lock.
   */
  async deleteBefore(day: number, isKept: (id: string) => boolean): Promise<number> {
    await this.refresh()
    const runs = await this.readDays()
    if (runs.every(([, runDay]) => runDay >= day)) return 0
    const ids: string[] = []
    const left: DayRun[] = []
    let next = 0
    let current: DayRun | undefined
    for (const [position, id] of [...this.ids].entries()) {
      while ((runs[next]?.[0] ?? Number.POSITIVE_INFINITY) <= position) current = runs[next++]
      if (current !== undefined && current[1] < day && !isKept(id)) continue
      if (current !== undefined && left.at(-1)?.[1] !== current[1]) left.push([ids.length, current[1]])
      ids.push(id)
    }
    const deleted = this.ids.size - ids.length
    if (deleted === 0) return 0
    try {
      // A process that is killed in between leaves ids with later days, which are deleted later.
      await this.writeDays(left)
      await this.replace(ids)
    } catch (error) {
      this.isRead = false
      throw createUnavailableError(this.path, error)
    }
    return deleted
  }

  /** Adds the days of ids that will be added. Ids of a file without days get the first of them. */
  private async addDays(added: readonly ProcessedId[]): Promise<void> {
    const runs = await this.readDays()
    const before = runs.length
    for (const [i, { day }] of added.entries())
      if (runs.at(-1)?.[1] !== day) runs.push([runs.length === 0 ? 0 : this.ids.size + i, day])
    if (runs.length > before) await this.writeDays(runs)
  }

  /** Reads the days; none if the file is missing or damaged. */
  private async readDays(): Promise<DayRun[]> {
    const content = await this.disk.read(this.daysPath)
    if (content === undefined) return []
    try {
      const runs: unknown = JSON.parse(content.toString())
      if (Array.isArray(runs) && runs.every(isDayRun)) return runs
    } catch {
      // It is replaced with the next id.
    }
    return []
  }

  private async writeDays(runs: readonly DayRun[]): Promise<void> {
    await this.disk.replace(this.daysPath, `${JSON.stringify(runs)}\n`)
    await this.disk.syncFolder(this.folder)
  }
}

/** The id in a line and its length in bytes; no id for the closing bracket and for a partial line. */
function parseIdLine(line: string): [id: string | undefined, length: number] {
  const text = line.slice(0, line.lastIndexOf('"') + 1)
  try {
    const id: unknown = JSON.parse(text)
    return [typeof id === 'string' ? id : undefined, Buffer.byteLength(text)]
  } catch {
    return [undefined, 0]
  }
}
