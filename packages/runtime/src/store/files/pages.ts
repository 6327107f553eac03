import type { Codec } from '../../codec/twin.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { matchesFilter, type Nature } from '../fits.js'
import type { Page, PageOptions } from '../store.js'
import { type Found, type Shelf, type Spot, START } from './shelf.js'

/** What the filters of all journals can say. */
export interface Range extends PageOptions {
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

/** The next record of a folder. */
interface Head<T> extends Found {
  shelf: number
  time: number
  record: T
}

/** A page of a journal. Its cursor is a spot in each folder, so that what is appended meanwhile moves nothing. */
export async function listPage<T, F extends Range>(
  shelves: readonly Shelf[],
  form: JournalForm<T, F>,
  filter: F | undefined,
): Promise<Page<T>> {
  const { limit, newest, after } = readPaging(filter, 'newest', [''])
  const spots =
    after === undefined
      ? await Promise.all(shelves.map(async (shelf) => (newest ? shelf.end() : START)))
      : spotsOf(String(after[0]), shelves.length, newest)
  const items: T[] = []
  let cursor = ''
  for await (const head of merged(shelves, form, newest, spots, filter)) {
    if (items.length === limit) return { items, cursor }
    items.push(head.record)
    spots[head.shelf] = head.spot
    if (items.length === limit) cursor = encodeCursor(newest, [spots.map(spell).join('|')])
  }
  return { items }
}

const spell = ({ day, offset }: Spot): string => `${day}:${offset}`

function spotsOf(text: string, count: number, newest: boolean): Spot[] {
  const spots = text.split('|').flatMap((part) => {
    const [, day = '', offset] = /^(\d{4}-\d\d-\d\d|):(\d{1,15})$/.exec(part) ?? []
    if (offset === undefined) return []
    return day === '' ? START : { day, offset: Number(offset) }
  })
  // A cursor of another list is refused in the words that all lists have for it.
  if (spots.length !== count)
    readPaging({ cursor: encodeCursor(newest, []), order: newest ? 'newest' : 'oldest' }, 'newest', [''])
  return spots
}

/** Records that fit, over all folders, by time; each folder's in the order they came. */
async function* merged<T, F extends Range>(
  shelves: readonly Shelf[],
  form: JournalForm<T, F>,
  newest: boolean,
  spots: readonly Spot[],
  filter: F | undefined,
): AsyncGenerator<Head<T>> {
  const only = filter && form.only(filter)
  const walks = shelves.map((shelf, i) =>
    fitting(shelf, i, form, newest, only === undefined || only === i ? spots[i] : undefined, filter),
  )
  const next = async (i: number) => (await walks[i]?.next())?.value as Head<T> | undefined
  try {
    const heads = await Promise.all(walks.map((_, i) => next(i)))
    for (let best = leading(heads, newest); best !== undefined; best = leading(heads, newest)) {
      yield best
      heads[best.shelf] = await next(best.shelf)
    }
  } finally {
    await Promise.all(walks.map((walk) => walk.return(undefined)))
  }
}

/** Of records of one time, those of the later folder are the newer ones, so that both orders mirror each other. */
function leading<T>(heads: readonly (Head<T> | undefined)[], newest: boolean): Head<T> | undefined {
  return heads.reduce((best, head) => {
    if (best === undefined || head === undefined) return best ?? head
    return (newest ? head.time >= best.time : head.time < best.time) ? head : best
  }, undefined)
}

async function* fitting<T, F extends Range>(
  shelf: Shelf,
  index: number,
  form: JournalForm<T, F>,
  newest: boolean,
  spot: Spot | undefined,
  filter: F | undefined,
): AsyncGenerator<Head<T>> {
  if (spot === undefined) return
  const needles = needlesOf(filter)
  for await (const found of shelf.walk(newest, spot)) {
    if (!needles.every((some) => some.some((needle) => found.text.includes(needle)))) continue
    const record = decodeLine(form, found.text)
    if (record === undefined) continue
    if (filter !== undefined && !matchesFilter(form.nature, record, filter)) continue
    yield { ...found, shelf: index, time: form.nature.time(record).getTime(), record }
  }
}

/** The record of a line; undefined for half a line, left by a writer that was killed. */
export function decodeLine<T, F>(form: JournalForm<T, F>, text: string): T | undefined {
  try {
    const decoded = form.codec.safeDecode(JSON.parse(text))
    return decoded.success ? (decoded.data as T) : undefined
  } catch {
    return undefined
  }
}

/** The time of a line without reading all of it: the field stands before anything of the user's. NaN for half a line. */
export function timeIn(text: string, timeField: string): number {
  const opening = `"${timeField}":"`
  const found = text.indexOf(opening)
  if (found < 0 || !text.endsWith('}')) return Number.NaN
  const start = found + opening.length
  return Date.parse(text.slice(start, text.indexOf('"', start)))
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
