import type { Codec } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { matchesFilter, type RecordFilter } from '../filters.js'
import type { Page, PageOptions } from '../store.js'
import { FIRST_POSITION, type FoundLine, type LineLog, type LinePosition } from './line-log.js'

/** What the filters of all journals can say. */
export interface TimeRangeFilter extends PageOptions {
  from?: Date | undefined
  to?: Date | undefined
}

/** How a journal lies on disk. */
export interface JournalLayout<T, F> {
  recordFilter: RecordFilter<T, F>
  // oxlint-disable-next-line no-explicit-any -- a codec's type says its schema, which matters to nobody here
  codec: Codec<any>
  /** The wire's field with the time of a record. */
  timeField: string
  /** The folders, and which of them a record goes to. */
  folders: readonly string[]
  folderOf(record: T): number
  /** The only folder that can hold what fits; undefined for any. */
  onlyFolder(filter: F): number | undefined
  /** What the names of files begin with. */
  prefix: string
}

/** The next record of a folder. */
interface PageHead<T> extends FoundLine {
  logIndex: number
  time: number
  record: T
}

/** A page of a journal. Its cursor is a spot in each folder, so that what is appended meanwhile moves nothing. */
export async function listPage<T, F extends TimeRangeFilter>(
  logs: readonly LineLog[],
  form: JournalLayout<T, F>,
  filter: F | undefined,
): Promise<Page<T>> {
  const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [''])
  const positions =
    after === undefined
      ? await Promise.all(logs.map(async (log) => (isNewestFirst ? log.endPosition() : FIRST_POSITION)))
      : parsePositions(String(after[0]), logs.length, isNewestFirst)
  const items: T[] = []
  let cursor = ''
  for await (const head of mergeLogs(logs, form, isNewestFirst, positions, filter)) {
    if (items.length === limit) return { items, cursor }
    items.push(head.record)
    positions[head.logIndex] = head.position
    if (items.length === limit)
      cursor = encodeCursor(isNewestFirst, [positions.map(formatPosition).join('|')])
  }
  return { items }
}

const formatPosition = ({ day, offset }: LinePosition): string => `${day}:${offset}`

function parsePositions(text: string, count: number, newest: boolean): LinePosition[] {
  const positions = text.split('|').flatMap((part) => {
    const [, day = '', offset] = /^(\d{4}-\d\d-\d\d|):(\d{1,15})$/.exec(part) ?? []
    if (offset === undefined) return []
    return day === '' ? FIRST_POSITION : { day, offset: Number(offset) }
  })
  // A cursor of another list is refused in the words that all lists have for it.
  if (positions.length !== count)
    parsePaging({ cursor: encodeCursor(newest, []), order: newest ? 'newest' : 'oldest' }, 'newest', [''])
  return positions
}

/** Records that fit, over all folders, by time; each folder's in the order they came. */
async function* mergeLogs<T, F extends TimeRangeFilter>(
  logs: readonly LineLog[],
  form: JournalLayout<T, F>,
  newest: boolean,
  positions: readonly LinePosition[],
  filter: F | undefined,
): AsyncGenerator<PageHead<T>> {
  const only = filter && form.onlyFolder(filter)
  const walks = logs.map((log, i) =>
    matchingRecords(
      log,
      i,
      form,
      newest,
      only === undefined || only === i ? positions[i] : undefined,
      filter,
    ),
  )
  const next = async (i: number) => (await walks[i]?.next())?.value as PageHead<T> | undefined
  try {
    const heads = await Promise.all(walks.map((_, i) => next(i)))
    for (let best = pickNext(heads, newest); best !== undefined; best = pickNext(heads, newest)) {
      yield best
      heads[best.logIndex] = await next(best.logIndex)
    }
  } finally {
    await Promise.all(walks.map((walk) => walk.return(undefined)))
  }
}

/** Of records of one time, those of the later folder are the newer ones, so that both orders mirror each other. */
function pickNext<T>(heads: readonly (PageHead<T> | undefined)[], newest: boolean): PageHead<T> | undefined {
  return heads.reduce((best, head) => {
    if (best === undefined || head === undefined) return best ?? head
    return (newest ? head.time >= best.time : head.time < best.time) ? head : best
  }, undefined)
}

async function* matchingRecords<T, F extends TimeRangeFilter>(
  log: LineLog,
  index: number,
  form: JournalLayout<T, F>,
  newest: boolean,
  position: LinePosition | undefined,
  filter: F | undefined,
): AsyncGenerator<PageHead<T>> {
  if (position === undefined) return
  const needles = requiredTexts(filter)
  for await (const found of log.walk(newest, position)) {
    if (!needles.every((some) => some.some((needle) => found.text.includes(needle)))) continue
    const record = decodeLine(form, found.text)
    if (record === undefined) continue
    if (filter !== undefined && !matchesFilter(form.recordFilter, record, filter)) continue
    yield { ...found, logIndex: index, time: form.recordFilter.timeOf(record).getTime(), record }
  }
}

/** The record of a line; undefined for half a line, left by a writer that was killed. */
export function decodeLine<T, F>(form: JournalLayout<T, F>, text: string): T | undefined {
  try {
    const decoded = form.codec.safeDecode(JSON.parse(text))
    return decoded.success ? (decoded.data as T) : undefined
  } catch {
    return undefined
  }
}

/** The time of a line without reading all of it: the field stands before anything of the user's. NaN for half a line. */
export function parseTime(text: string, timeField: string): number {
  const opening = `"${timeField}":"`
  const found = text.indexOf(opening)
  if (found < 0 || !text.endsWith('}')) return Number.NaN
  const start = found + opening.length
  return Date.parse(text.slice(start, text.indexOf('"', start)))
}

const NON_TEXT_FILTERS = new Set(['limit', 'cursor', 'order', 'after'])

/** What the text of a line must hold to fit: one of each. It spares the reading of most lines that do not. */
function requiredTexts(filter: object | undefined): string[][] {
  return Object.entries(filter ?? {}).flatMap(([key, value]: [string, unknown]) => {
    if (NON_TEXT_FILTERS.has(key)) return []
    if (typeof value === 'string') return [[JSON.stringify(value)]]
    return Array.isArray(value) ? [value.map((each) => JSON.stringify(each))] : []
  })
}
