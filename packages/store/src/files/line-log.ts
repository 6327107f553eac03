import { join } from 'node:path'
import { type DayFile, DayFiles, dayAfter } from './day-files.js'
import { type Disk, parseJson } from './disk.js'
import { readBackward, readForward, type TextLine } from './lines.js'

/** Where a line begins: lines of one shelf are in the order of their spots. */
export interface LinePosition {
  day: string
  offset: number
}

/** Before every line, and where nothing is. */
export const FIRST_POSITION: LinePosition = { day: '', offset: 0 }

const isBefore = (a: LinePosition, b: LinePosition): boolean =>
  a.day < b.day || (a.day === b.day && a.offset < b.offset)

/**
 * What was let go of, though its file is still there: lines before a spot, those older than `older` where that is given
 * (epoch milliseconds). Files are never rewritten, so that cursors stay good; they go when all of their lines have gone.
 */
interface Tombstone extends LinePosition {
  older: number | null
}

export interface FoundLine extends TextLine {
  position: LinePosition
}

/** What is known of the lines of a file: where each begins, and its time. */
interface FileIndex {
  /** Which file it was. */
  file: string
  size: number
  starts: number[]
  times: number[]
}

/** Lines of one kind in files by day, with what was let go of. */
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

  /** Behind every line there is now. */
  async endPosition(): Promise<LinePosition> {
    const last = (await this.files.list()).at(-1)
    if (last === undefined) return FIRST_POSITION
    const source = await this.files.open(last)
    await source?.close()
    return { day: last.day, offset: source?.size ?? 0 }
  }

  /**
   * The day whose file takes lines of a day: never one that is packed, nor one whose lines would lie among those that
   * were let go of.
   */
  async dayFor(day: string): Promise<string> {
    const files = await this.files.list()
    const packed = files.findLast((file) => file.isCompressed)?.day
    const tombstone = (await this.readTombstones()).at(-1)?.day
    const gone =
      tombstone !== undefined && !files.some((file) => file.day === tombstone && !file.isCompressed)
    const first = [packed && dayAfter(packed), tombstone && (gone ? dayAfter(tombstone) : tombstone)]
    return first.reduce<string>((latest, each) => (each !== undefined && each > latest ? each : latest), day)
  }

  /** Lines after a spot upwards, or before one downwards, without those that were let go of. */
  async *walk(newest: boolean, position: LinePosition): AsyncGenerator<FoundLine> {
    const tombstones = await this.readTombstones()
    const files = (await this.files.list()).filter(({ day }) =>
      newest ? day <= position.day : day >= position.day,
    )
    for (const file of newest ? files.reverse() : files) {
      const { day } = file
      const source = await this.files.open(file)
      if (source === undefined) continue
      try {
        const here = day === position.day
        const lines = newest
          ? readBackward(source, here ? position.offset : source.size)
          : readForward(source, here ? position.offset : 0)
        for await (const line of lines) {
          const found = { ...line, position: { day, offset: line.start } }
          // Upwards a walk goes on behind the line at its spot.
          if (!newest && here && line.start === position.offset) continue
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

  /** The spots and times of all lines that are not let go of, oldest first. */
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

  /** Reads what was added since the last time. */
  private async indexOfFile(file: DayFile): Promise<FileIndex> {
    const stamp = await this.disk.stamp(file.path)
    const same = `${stamp?.ino} ${stamp?.createdAt}`
    let facts = this.fileIndexes.get(file.day)
    if (facts === undefined || facts.file !== same) {
      facts = { file: same, size: 0, starts: [], times: [] }
      this.fileIndexes.set(file.day, facts)
    }
    if (file.isCompressed && facts.size > 0) return facts
    const source = await this.files.open(file)
    if (source === undefined) return facts
    try {
      for await (const { start, next, text } of readForward(source, facts.size)) {
        const time = this.timeOf(text)
        facts.size = next
        // What a killed writer left is no record.
        if (Number.isNaN(time)) continue
        facts.starts.push(start)
        facts.times.push(time)
      }
    } finally {
      await source.close()
    }
    return facts
  }

  /** Lets go of lines, which must be all before a spot, or those before it that are older. Holds the lock. */
  async removeBefore(position: LinePosition, older: number | null): Promise<void> {
    const added: Tombstone = { ...position, older }
    const covered = (tombstone: Tombstone) =>
      !isBefore(position, tombstone) &&
      (older === null || (tombstone.older !== null && tombstone.older <= older))
    const tombstones = [
      ...(await this.readTombstones()).filter((tombstone) => !covered(tombstone)),
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
    // A floor over nothing would only be in the way of what is added later.
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
