import { join } from 'node:path'
import { parseOrUndefined } from '../readable-rows.js'
import { type DayFile, DayFiles, dayAfter } from './day-files.js'
import { type Disk, parseJson } from './disk.js'
import { readBackward, readForward, type TextLine } from './lines.js'

/** Where a line begins. Lines of one log are sorted by position. */
export interface LinePosition {
  day: string
  offset: number
}

/** The position before every line, and the end of an empty log. */
export const FIRST_POSITION: LinePosition = { day: '', offset: 0 }

const isBefore = (a: LinePosition, b: LinePosition): boolean =>
  a.day < b.day || (a.day === b.day && a.offset < b.offset)

/**
 * Marks lines as deleted while their file still exists: all lines before a position, or those older than `older` (epoch
 * milliseconds) if it is given. Files are never rewritten, so that cursors stay valid. A file is deleted when all of its lines
 * are.
 */
interface Tombstone extends LinePosition {
  older: number | null
}

export interface FoundLine extends TextLine {
  position: LinePosition
}

/** The offset and time of each line of a file. */
interface FileIndex {
  /** Identifies the file. */
  file: string
  size: number
  starts: number[]
  times: number[]
}

/** Lines of one kind in one file per day, with the tombstones of deleted lines. */
export class LineLog {
  readonly files: DayFiles
  private readonly disk: Disk
  private readonly timeOf: (text: string) => number
  private readonly fileIndexes = new Map<string, FileIndex>()
  private readonly tombstoneFile: string

  constructor(disk: Disk, folder: string, prefix: string, timeOf: (text: string) => number) {
    this.disk = disk
    this.files = new DayFiles(disk, folder, prefix)
    this.timeOf = timeOf
    this.tombstoneFile = join(folder, '.expired.json')
  }

  private async readTombstones(): Promise<Tombstone[]> {
    const content = await this.disk.read(this.tombstoneFile)
    return content === undefined ? [] : (parseJson(this.tombstoneFile, content) as Tombstone[])
  }

  /** The position after all lines. */
  async endPosition(): Promise<LinePosition> {
    const last = (await this.files.list()).at(-1)
    if (last === undefined) return FIRST_POSITION
    const source = await this.files.open(last)
    await source?.close()
    return { day: last.day, offset: source?.size ?? 0 }
  }

  /**
   * The day to whose file new lines of a day are appended: not a compressed file, and not one in which a tombstone would cover
   * the new lines.
   */
  async dayFor(day: string): Promise<string> {
    const compressed = (await this.files.list()).findLast((file) => file.isCompressed)?.day
    const tombstone = (await this.readTombstones()).at(-1)
    const earliest = [
      compressed && dayAfter(compressed),
      tombstone && ((await this.coversNewLines(tombstone)) ? dayAfter(tombstone.day) : tombstone.day),
    ]
    return earliest.reduce<string>(
      (latest, each) => (each !== undefined && each > latest ? each : latest),
      day,
    )
  }

  /**
   * Whether lines that are appended to the file of a tombstone would be before its position: the file was deleted, or a power failure
   * has removed its end, which a process that died had not flushed.
   */
  private async coversNewLines({ day, offset }: Tombstone): Promise<boolean> {
    const size = (await this.disk.stamp(this.files.path(day)))?.size ?? 0
    return size < offset
  }

  /** Reads the lines after a position upwards, or before it downwards, without deleted lines. */
  async *walk(isNewestFirst: boolean, position: LinePosition): AsyncGenerator<FoundLine> {
    const tombstones = await this.readTombstones()
    const files = (await this.files.list()).filter(({ day }) =>
      isNewestFirst ? day <= position.day : day >= position.day,
    )
    for (const file of isNewestFirst ? files.reverse() : files) {
      const { day } = file
      const source = await this.files.open(file)
      if (source === undefined) continue
      try {
        const isStartDay = day === position.day
        const lines = isNewestFirst
          ? readBackward(source, isStartDay ? position.offset : source.size)
          : readForward(source, isStartDay ? position.offset : 0)
        for await (const line of lines) {
          const found = { ...line, position: { day, offset: line.start } }
          // An upward walk starts after the line at its position.
          if (!isNewestFirst && isStartDay && line.start === position.offset) continue
          if (
            !tombstones.some((tombstone) =>
              isRemoved(tombstone, found.position, () => this.timeOf(line.text)),
            )
          )
            yield found
        }
      } finally {
        await source.close()
      }
    }
  }

  /** The positions and times of all lines that are not deleted, oldest first. The caller holds the lock. */
  async listLines(): Promise<{ position: LinePosition; time: number }[]> {
    const tombstones = await this.readTombstones()
    const found: { position: LinePosition; time: number }[] = []
    const files = await this.files.list()
    for (const day of this.fileIndexes.keys())
      if (!files.some((file) => file.day === day)) this.fileIndexes.delete(day)
    for (const file of files) {
      const { starts, times } = await this.indexOfFile(file)
      starts.forEach((offset, i) => {
        const line = { position: { day: file.day, offset }, time: times[i] as number }
        if (!tombstones.some((tombstone) => isRemoved(tombstone, line.position, () => line.time)))
          found.push(line)
      })
    }
    return found
  }

  /** Updates the index of a file with the lines that were added since the last call. */
  private async indexOfFile(file: DayFile): Promise<FileIndex> {
    const stamp = await this.disk.stamp(file.path)
    const identity = `${stamp?.ino} ${stamp?.createdAt}`
    let index = this.fileIndexes.get(file.day)
    if (index === undefined || index.file !== identity) {
      index = { file: identity, size: 0, starts: [], times: [] }
      this.fileIndexes.set(file.day, index)
    }
    if (file.isCompressed && index.size > 0) return index
    const source = await this.files.open(file)
    if (source === undefined) return index
    try {
      for await (const { start, next, text } of readForward(source, index.size)) {
        const time = this.timeOf(text)
        index.size = next
        // The partial line of a killed process is not a record, even if it ends with the end of an object within the record.
        if (Number.isNaN(time) || parseOrUndefined(text, JSON.parse) === undefined) continue
        index.starts.push(start)
        index.times.push(time)
      }
    } finally {
      await source.close()
    }
    return index
  }

  /** Deletes all lines before a position, or those before it that are older. The caller holds the lock. */
  async removeBefore(position: LinePosition, older: number | null): Promise<void> {
    const added: Tombstone = { ...position, older }
    const isCovered = (tombstone: Tombstone) =>
      !isBefore(position, tombstone) &&
      (older === null || (tombstone.older !== null && tombstone.older <= older))
    const tombstones = [
      ...(await this.readTombstones()).filter((tombstone) => !isCovered(tombstone)),
      added,
    ].sort((a, b) => (isBefore(a, b) ? -1 : 1))
    await this.writeTombstones(tombstones)
    const kept = new Set((await this.listLines()).map((line) => line.position.day))
    const files = await this.files.list()
    for (const file of files) {
      if (kept.has(file.day) || file.day > position.day) continue
      await this.files.remove(file)
      this.fileIndexes.delete(file.day)
    }
    // A tombstone without lines would only cover lines that are appended later.
    const left = (await this.files.list()).map(({ day }) => day)
    await this.writeTombstones(tombstones.filter((tombstone) => left.some((day) => day <= tombstone.day)))
  }

  private async writeTombstones(tombstones: readonly Tombstone[]): Promise<void> {
    if (tombstones.length === 0) await this.disk.remove(this.tombstoneFile)
    else await this.disk.replace(this.tombstoneFile, JSON.stringify(tombstones))
    await this.disk.syncFolder(this.files.folder)
  }
}

const isRemoved = (tombstone: Tombstone, position: LinePosition, time: () => number): boolean =>
  isBefore(position, tombstone) && (tombstone.older === null || time() < tombstone.older)
