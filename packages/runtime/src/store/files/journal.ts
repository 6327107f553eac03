import type { Codec } from '../../codec/twin.js'
import type { RetrySession } from '../../records/session.js'
import { encodeCursor, readPaging } from '../cursor.js'
import type { Nature } from '../fits.js'
import type { Journal, Page, PageOptions, SessionFilter, SessionJournal } from '../store.js'
import { Batches } from './batches.js'
import { dayOf } from './day-files.js'
import { type Disk, unavailable } from './disk.js'
import type { Lock } from './lock.js'
import { before, type Found, Shelf, type Spot, START } from './shelf.js'

interface Range extends PageOptions {
  from?: Date | undefined
  to?: Date | undefined
}

/** How a journal lies on disk. */
export interface JournalForm<T, F> {
  nature: Nature<T, F>
  // oxlint-disable-next-line no-explicit-any -- a codec's type says its schema, which matters to nobody here
  codec: Codec<any>
  /** The wire's field with the time of a record. */
  timeField: string
  /** The folders, and which of them a record goes to. */
  folders: readonly string[]
  folderOf(record: T): number
  /** The only folder that can hold what fits; undefined for any. */
  only(filter: F): number | undefined
  /** What the names of files begin with. */
  prefix: string
}

/** A record as it is to be written: to which folder, and by which day. */
interface NewLine {
  folder: number
  day: string
  text: string
}

interface Head<T> extends Found {
  shelf: number
  time: number
  record: T
}

/** Records as lines of JSON in a file a day, in one folder or several. */
export class FilesJournal<T, F extends Range> implements Journal<T, F> {
  protected readonly shelves: readonly Shelf[]
  private readonly batches: Batches<readonly NewLine[], void>
  private packing: Promise<unknown> = Promise.resolve()
  private readonly disk: Disk
  private readonly lock: Lock
  protected readonly form: JournalForm<T, F>
  private readonly place: string

  constructor(disk: Disk, lock: Lock, form: JournalForm<T, F>) {
    this.disk = disk
    this.lock = lock
    this.form = form
    this.place = form.folders[0] ?? ''
    this.shelves = form.folders.map(
      (folder) => new Shelf(disk, folder, form.prefix, (text) => this.timeIn(text)),
    )
    this.batches = new Batches(async (batch) => {
      await this.guarded(() => this.write(batch.flat()))
      return batch.map(() => undefined)
    })
  }

  async open(): Promise<void> {
    for (const folder of this.form.folders) {
      await this.disk.makeFolder(folder)
      await this.lock.hold(() => this.disk.sweep(folder))
    }
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

  private async guarded<R>(work: () => Promise<R>, held = true): Promise<R> {
    try {
      return await (held ? this.lock.hold(work) : work())
    } catch (error) {
      throw unavailable(this.place, error)
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
    const { limit, newest, after } = readPaging(filter, 'newest', [''])
    return this.guarded(async () => {
      const spots =
        after === undefined ? await this.edges(newest) : this.spotsOf(String(after[0]), newest, filter)
      const items: T[] = []
      let cursor = ''
      for await (const head of this.merged(newest, spots, filter)) {
        if (items.length === limit) return { items, cursor }
        items.push(head.record)
        spots[head.shelf] = head.spot
        if (items.length === limit) cursor = encodeCursor(newest, [spots.map(spell).join('|')])
      }
      return { items }
    }, false)
  }

  private edges(newest: boolean): Promise<Spot[]> {
    return Promise.all(this.shelves.map(async (shelf) => (newest ? shelf.end() : START)))
  }

  private spotsOf(text: string, newest: boolean, filter: F | undefined): Spot[] {
    const spots = text.split('|').map((part) => {
      const [, day = '', offset] = /^(\d{4}-\d\d-\d\d|):(\d+)$/.exec(part) ?? []
      if (offset === undefined) return undefined
      return day === '' ? START : { day, offset: Number(offset) }
    })
    if (spots.length === this.shelves.length && spots.every((spot) => spot !== undefined)) return spots
    // Told as any cursor that is not understood.
    readPaging({ ...filter, cursor: encodeCursor(newest, [0]) }, 'newest', [''])
    return []
  }

  /** Records that fit, over all folders, by time; each folder's in the order they came. */
  private async *merged(
    newest: boolean,
    spots: readonly Spot[],
    filter: F | undefined,
  ): AsyncGenerator<Head<T>> {
    const only = filter && this.form.only(filter)
    const walks = this.shelves.map((shelf, i) =>
      this.fitting(
        shelf,
        i,
        newest,
        only === undefined || only === i ? (spots[i] as Spot) : undefined,
        filter,
      ),
    )
    try {
      const heads = await Promise.all(
        walks.map(async (walk) => (await walk.next()).value as Head<T> | undefined),
      )
      for (;;) {
        const best = leading(heads, newest)
        if (best === undefined) return
        yield best
        heads[best.shelf] = (await walks[best.shelf]?.next())?.value as Head<T> | undefined
      }
    } finally {
      await Promise.all(walks.map((walk) => walk.return(undefined)))
    }
  }

  private async *fitting(
    shelf: Shelf,
    index: number,
    newest: boolean,
    spot: Spot | undefined,
    filter: F | undefined,
  ): AsyncGenerator<Head<T>> {
    if (spot === undefined) return
    const needles = needlesOf(filter)
    for await (const found of shelf.walk(newest, spot)) {
      if (!needles.every((some) => some.some((needle) => found.text.includes(needle)))) continue
      const record = this.decode(found.text)
      if (record === undefined || !this.fits(record, filter)) continue
      yield { ...found, shelf: index, time: this.form.nature.time(record).getTime(), record }
    }
  }

  protected decode(text: string): T | undefined {
    try {
      const decoded = this.form.codec.safeDecode(JSON.parse(text))
      return decoded.success ? (decoded.data as T) : undefined
    } catch {
      return undefined // half a line, left by a writer that was killed
    }
  }

  private fits(record: T, filter: F | undefined): boolean {
    if (filter === undefined) return true
    const time = this.form.nature.time(record)
    if (filter.from !== undefined && time < filter.from) return false
    if (filter.to !== undefined && time >= filter.to) return false
    return this.form.nature.fits(record, filter)
  }

  /** The time of a line without reading all of it: the field stands before anything of the user's. */
  private timeIn(text: string): number {
    const name = `"${this.form.timeField}":"`
    const found = text.indexOf(name)
    // What a killed writer left is no record.
    if (found < 0 || !text.endsWith('}')) return Number.NaN
    const start = found + name.length
    return Date.parse(text.slice(start, text.indexOf('"', start)))
  }

  expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    return this.guarded(async () => {
      const lines = (await Promise.all(this.shelves.map((shelf) => shelf.lines()))).map((held) => held)
      const count = lines.flat().length
      const older = limits.before?.getTime() ?? Number.NEGATIVE_INFINITY
      for (const [i, held] of lines.entries()) {
        const last = held.findLast(({ time }) => time < older)
        if (last !== undefined) await this.shelves[i]?.letGo(behind(last.spot), older)
        lines[i] = held.filter(({ time }) => time >= older)
      }
      const left = lines.flatMap((held, shelf) => held.map((line) => ({ ...line, shelf })))
      // Oldest first over all folders, in the order of lists.
      left.sort((a, b) =>
        a.shelf === b.shelf ? (before(a.spot, b.spot) ? -1 : 1) : a.time - b.time || a.shelf - b.shelf,
      )
      const surplus = left.slice(0, Math.max(0, left.length - (limits.maxEntries ?? left.length)))
      for (const [i, shelf] of this.shelves.entries()) {
        const last = surplus.findLast((line) => line.shelf === i)
        if (last !== undefined) await shelf.letGo(behind(last.spot), null)
      }
      return count - left.length + surplus.length
    })
  }

  count(): Promise<number> {
    return this.guarded(async () => {
      const lines = await Promise.all(this.shelves.map((shelf) => shelf.lines()))
      return lines.flat().length
    }, false)
  }

  async idle(): Promise<void> {
    await this.batches.idle()
    await this.packing
  }
}

/** The spot just behind the beginning of a line. */
const behind = ({ day, offset }: Spot): Spot => ({ day, offset: offset + 1 })

const spell = ({ day, offset }: Spot): string => `${day}:${offset}`

/** Of records of one time, those of the later folder are the newer ones, so that both orders mirror each other. */
function leading<T>(heads: readonly (Head<T> | undefined)[], newest: boolean): Head<T> | undefined {
  return heads.reduce((best, head) => {
    if (best === undefined || head === undefined) return best ?? head
    return (newest ? head.time >= best.time : head.time < best.time) ? head : best
  }, undefined)
}

const NO_TEXT = new Set(['limit', 'cursor', 'order', 'after'])

/** What the text of a line must hold to fit: one of each. It spares the reading of most lines that do not. */
function needlesOf(filter: object | undefined): string[][] {
  return Object.entries(filter ?? {}).flatMap(([key, value]: [string, unknown]) => {
    if (NO_TEXT.has(key)) return []
    if (typeof value === 'string') return [[JSON.stringify(value)]]
    return Array.isArray(value) ? [value.map((each) => JSON.stringify(each))] : []
  })
}

/** Sessions can be asked for by id besides. */
export class FilesSessions extends FilesJournal<RetrySession, SessionFilter> implements SessionJournal {
  async get(id: string): Promise<RetrySession | undefined> {
    const needle = `"session_id":${JSON.stringify(id)}`
    const [shelf] = this.shelves as [Shelf]
    try {
      for await (const { text } of shelf.walk(true, await shelf.end())) {
        if (!text.includes(needle)) continue
        const session = this.decode(text)
        if (session?.sessionId === id) return session
      }
    } catch (error) {
      throw unavailable(shelf.files.folder, error)
    }
    return undefined
  }
}
