import { join } from 'node:path'
import { type DayFile, DayFiles, dayAfter } from './day-files.js'
import { type Disk, parseJson } from './disk.js'
import { backwards, forwards, type Line } from './lines.js'

/** Where a line begins: lines of one shelf are in the order of their spots. */
export interface Spot {
  day: string
  offset: number
}

/** Before every line, and where nothing is. */
export const START: Spot = { day: '', offset: 0 }

const before = (a: Spot, b: Spot): boolean => a.day < b.day || (a.day === b.day && a.offset < b.offset)

/**
 * What was let go of, though its file is still there: lines before a spot, those older than `older` where that is given
 * (epoch milliseconds). Files are never rewritten, so that cursors stay good; they go when all of their lines have gone.
 */
interface Floor extends Spot {
  older: number | null
}

export interface Found extends Line {
  spot: Spot
}

/** What is known of the lines of a file: where each begins, and its time. */
interface Facts {
  /** Which file it was. */
  file: string
  size: number
  starts: number[]
  times: number[]
}

/** Lines of one kind in files by day, with what was let go of. */
export class Shelf {
  readonly files: DayFiles
  private readonly disk: Disk
  private readonly timeOf: (text: string) => number
  private readonly facts = new Map<string, Facts>()
  private readonly floorFile: string

  constructor(disk: Disk, folder: string, prefix: string, timeOf: (text: string) => number) {
    this.disk = disk
    this.files = new DayFiles(disk, folder, prefix)
    this.timeOf = timeOf
    this.floorFile = join(folder, '.expired.json')
  }

  private async floors(): Promise<Floor[]> {
    const content = await this.disk.read(this.floorFile)
    return content === undefined ? [] : (parseJson(this.floorFile, content) as Floor[])
  }

  /** Behind every line there is now. */
  async end(): Promise<Spot> {
    const last = (await this.files.list()).at(-1)
    if (last === undefined) return START
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
    const packed = files.findLast((file) => file.packed)?.day
    const floor = (await this.floors()).at(-1)?.day
    const gone = floor !== undefined && !files.some((file) => file.day === floor && !file.packed)
    const first = [packed && dayAfter(packed), floor && (gone ? dayAfter(floor) : floor)]
    return first.reduce<string>((latest, each) => (each !== undefined && each > latest ? each : latest), day)
  }

  /** Lines after a spot upwards, or before one downwards, without those that were let go of. */
  async *walk(newest: boolean, spot: Spot): AsyncGenerator<Found> {
    const floors = await this.floors()
    const files = (await this.files.list()).filter(({ day }) => (newest ? day <= spot.day : day >= spot.day))
    for (const file of newest ? files.reverse() : files) {
      const { day } = file
      const source = await this.files.open(file)
      if (source === undefined) continue
      try {
        const here = day === spot.day
        const lines = newest
          ? backwards(source, here ? spot.offset : source.size)
          : forwards(source, here ? spot.offset : 0)
        for await (const line of lines) {
          const found = { ...line, spot: { day, offset: line.start } }
          // Upwards a walk goes on behind the line at its spot.
          if (!newest && here && line.start === spot.offset) continue
          if (!floors.some((floor) => isUnder(floor, found.spot, () => this.timeOf(line.text)))) yield found
        }
      } finally {
        await source.close()
      }
    }
  }

  /** The spots and times of all lines that are not let go of, oldest first. */
  async lines(): Promise<{ spot: Spot; time: number }[]> {
    const floors = await this.floors()
    const found: { spot: Spot; time: number }[] = []
    const files = await this.files.list()
    for (const day of this.facts.keys()) if (!files.some((file) => file.day === day)) this.facts.delete(day)
    for (const file of files) {
      const { starts, times } = await this.factsOf(file)
      starts.forEach((offset, i) => {
        const line = { spot: { day: file.day, offset }, time: times[i] as number }
        if (!floors.some((floor) => isUnder(floor, line.spot, () => line.time))) found.push(line)
      })
    }
    return found
  }

  /** Reads what was added since the last time. */
  private async factsOf(file: DayFile): Promise<Facts> {
    const stamp = await this.disk.stamp(file.path)
    const same = `${stamp?.ino} ${stamp?.born}`
    let facts = this.facts.get(file.day)
    if (facts === undefined || facts.file !== same) {
      facts = { file: same, size: 0, starts: [], times: [] }
      this.facts.set(file.day, facts)
    }
    if (file.packed && facts.size > 0) return facts
    const source = await this.files.open(file)
    if (source === undefined) return facts
    try {
      for await (const { start, next, text } of forwards(source, facts.size)) {
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
  async letGo(spot: Spot, older: number | null): Promise<void> {
    const added: Floor = { ...spot, older }
    const covered = (floor: Floor) =>
      !before(spot, floor) && (older === null || (floor.older !== null && floor.older <= older))
    const floors = [...(await this.floors()).filter((floor) => !covered(floor)), added].sort((a, b) =>
      before(a, b) ? -1 : 1,
    )
    await this.keepFloors(floors)
    const kept = new Set((await this.lines()).map((line) => line.spot.day))
    const files = await this.files.list()
    for (const file of files) {
      if (kept.has(file.day) || file.day > spot.day) continue
      await this.files.remove(file)
      this.facts.delete(file.day)
    }
    // A floor over nothing would only be in the way of what is added later.
    const left = (await this.files.list()).map(({ day }) => day)
    await this.keepFloors(floors.filter((floor) => left.some((day) => day <= floor.day)))
  }

  private async keepFloors(floors: readonly Floor[]): Promise<void> {
    if (floors.length === 0) await this.disk.remove(this.floorFile)
    else await this.disk.replace(this.floorFile, JSON.stringify(floors))
    await this.disk.syncFolder(this.files.folder)
  }
}

const isUnder = (floor: Floor, spot: Spot, time: () => number): boolean =>
  before(spot, floor) && (floor.older === null || time() < floor.older)
