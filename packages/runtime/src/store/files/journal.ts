import type { RetrySession } from '../../records/session.js'
import type { Journal, Page, SessionFilter, SessionJournal } from '../store.js'
import { Batches } from './batches.js'
import { dayOf } from './day-files.js'
import { type Disk, unavailable } from './disk.js'
import type { Lock } from './lock.js'
import { decodeLine, type JournalForm, listPage, type Range, timeIn } from './pages.js'
import { Shelf, type Spot } from './shelf.js'

/** A record as it is to be written: to which folder, and by which day. */
interface NewLine {
  folder: number
  day: string
  text: string
}

/** Records as lines of JSON in a file a day, in one folder or several. */
export class FilesJournal<T, F extends Range> implements Journal<T, F> {
  protected readonly shelves: readonly Shelf[]
  private readonly batches: Batches<readonly NewLine[], void>
  private packing: Promise<unknown> = Promise.resolve()
  private readonly disk: Disk
  private readonly lock: Lock
  protected readonly form: JournalForm<T, F>

  constructor(disk: Disk, lock: Lock, form: JournalForm<T, F>) {
    this.disk = disk
    this.lock = lock
    this.form = form
    this.shelves = form.folders.map(
      (folder) => new Shelf(disk, folder, form.prefix, (text) => timeIn(text, form.timeField)),
    )
    this.batches = new Batches(async (batch) => {
      await this.told(lock.hold(() => this.write(batch.flat())))
      return batch.map(() => undefined)
    })
  }

  async open(): Promise<void> {
    for (const folder of this.form.folders) await this.disk.makeFolder(folder)
    await this.lock.hold(async () => {
      for (const folder of this.form.folders) await this.disk.sweep(folder)
    })
  }

  async append(records: readonly T[]): Promise<void> {
    if (records.length === 0) return
    const { nature, codec, folderOf } = this.form
    await this.batches.ask(
      records.map((record) => ({
        folder: folderOf(record),
        day: dayOf(nature.time(record)),
        text: `${JSON.stringify(codec.encode(record as never))}\n`,
      })),
    )
  }

  /** A failure of the disk in the words of the store. */
  protected async told<R>(work: Promise<R>): Promise<R> {
    try {
      return await work
    } catch (error) {
      throw unavailable(this.form.folders.join(', '), error)
    }
  }

  private async write(lines: readonly NewLine[]): Promise<void> {
    const wanted = new Map<string, NewLine[]>()
    for (const line of lines) {
      const held = wanted.get(`${line.folder}/${line.day}`)
      if (held === undefined) wanted.set(`${line.folder}/${line.day}`, [line])
      else held.push(line)
    }
    for (const held of wanted.values()) {
      const [first] = held as [NewLine]
      const shelf = this.shelves[first.folder] as Shelf
      const day = await shelf.dayFor(first.day)
      const known = await this.disk.stamp(shelf.files.path(day))
      await shelf.files.append(day, held.map(({ text }) => text).join(''))
      if (known === undefined) this.packLater(shelf, day)
    }
  }

  /** A new day has begun: those that are over are packed, and nobody waits for it. */
  private packLater(shelf: Shelf, day: string): void {
    const work = () => this.lock.hold(() => shelf.files.packBefore(day))
    // What cannot be packed now is tried again tomorrow.
    this.packing = this.packing.then(work).catch(() => {})
  }

  async list(filter?: F): Promise<Page<T>> {
    return this.told(listPage(this.shelves, this.form, filter))
  }

  expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    return this.told(
      this.lock.hold(async () => {
        const older = await this.expireOlder(limits.before?.getTime() ?? Number.NEGATIVE_INFINITY)
        return older + (await this.expireSurplus(limits.maxEntries ?? Number.POSITIVE_INFINITY))
      }),
    )
  }

  private async expireOlder(limit: number): Promise<number> {
    let gone = 0
    for (const shelf of this.shelves) {
      const older = (await shelf.lines()).filter(({ time }) => time < limit)
      const last = older.at(-1)
      if (last !== undefined) await shelf.letGo(behind(last.spot), limit)
      gone += older.length
    }
    return gone
  }

  private async expireSurplus(maxEntries: number): Promise<number> {
    const lines = await Promise.all(this.shelves.map((shelf) => shelf.lines()))
    const surplus = Math.max(0, lines.reduce((sum, held) => sum + held.length, 0) - maxEntries)
    // Folder by folder the first go first; between folders the time tells, as it does in lists.
    const gone = lines.map(() => 0)
    const head = (i: number) => lines[i]?.[gone[i] as number]?.time ?? Number.POSITIVE_INFINITY
    for (let n = 0; n < surplus; n++) {
      const oldest = gone.reduce((best, _, i) => (head(i) < head(best) ? i : best), 0)
      gone[oldest] = (gone[oldest] as number) + 1
    }
    for (const [i, shelf] of this.shelves.entries()) {
      const last = lines[i]?.[(gone[i] as number) - 1]
      if (last !== undefined) await shelf.letGo(behind(last.spot), null)
    }
    return surplus
  }

  async count(): Promise<number> {
    const lines = await this.told(Promise.all(this.shelves.map((shelf) => shelf.lines())))
    return lines.reduce((sum, held) => sum + held.length, 0)
  }

  async idle(): Promise<void> {
    await this.batches.idle()
    await this.packing
  }
}

/** The spot just behind the beginning of a line. */
const behind = ({ day, offset }: Spot): Spot => ({ day, offset: offset + 1 })

/** Sessions can be asked for by id besides. */
export class FilesSessions extends FilesJournal<RetrySession, SessionFilter> implements SessionJournal {
  get(id: string): Promise<RetrySession | undefined> {
    return this.told(this.search(id))
  }

  private async search(id: string): Promise<RetrySession | undefined> {
    const needle = `"session_id":${JSON.stringify(id)}`
    for (const shelf of this.shelves)
      for await (const { text } of shelf.walk(true, await shelf.end())) {
        const session = text.includes(needle) ? decodeLine(this.form, text) : undefined
        if (session?.sessionId === id) return session
      }
    return undefined
  }
}
