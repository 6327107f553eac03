import type { Codec } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { matchesFilter, type RecordFilter } from '../filters.js'
import type { Page, TimeRangeFilter } from '../journals.js'
import { FIRST_POSITION, type FoundLine, type LineLog, type LinePosition } from './line-log.js'

/** The files of a journal. */
export interface JournalLayout<T, F> {
  recordFilter: RecordFilter<T, F>
  // oxlint-disable-next-line no-explicit-any -- the schema in the type of a codec is not used here
  codec: Codec<any>
  /** The wire name of the field with the time of a record. */
  timeField: string
  /** The folders, and the index of the folder that a record is written to. */
  folders: readonly string[]
  folderOf(record: T): number
  /** The only folder that can contain matching records; undefined for all. */
  onlyFolder(filter: F): number | undefined
  /** The prefix of file names. */
  prefix: string
}

/** The next record of a folder. */
interface PageHead<T> extends FoundLine {
  logIndex: number
  time: number
  record: T
}

/** Reads a page of a journal. Its cursor is a position in each folder, so that records appended meanwhile do not move it. */
export async function listPage<T, F extends TimeRangeFilter>(
  logs: readonly LineLog[],
  layout: JournalLayout<T, F>,
  filter: F | undefined,
): Promise<Page<T>> {
  const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [''])
  const positions =
    after === undefined
      ? await Promise.all(logs.map(async (log) => (isNewestFirst ? log.endPosition() : FIRST_POSITION)))
      : parsePositions(String(after[0]), logs.length, isNewestFirst)
  const items: T[] = []
  let cursor = ''
  for await (const head of mergeLogs(logs, layout, isNewestFirst, positions, filter)) {
    if (items.length === limit) return { items, cursor }
    items.push(head.record)
    positions[head.logIndex] = head.position
    if (items.length === limit)
      cursor = encodeCursor(isNewestFirst, [positions.map(formatPosition).join('|')])
  }
  return { items }
}

const formatPosition = ({ day, offset }: LinePosition): string => `${day}:${offset}`

function parsePositions(text: string, count: number, isNewestFirst: boolean): LinePosition[] {
  const positions = text.split('|').flatMap((part) => {
    const [, day = '', offset] = /^(\d{4}-\d\d-\d\d|):(\d{1,15})$/.exec(part) ?? []
    if (offset === undefined) return []
    return day === '' ? FIRST_POSITION : { day, offset: Number(offset) }
  })
  // A cursor of another list is rejected with the same error as in all lists.
  if (positions.length !== count)
    parsePaging(
      { cursor: encodeCursor(isNewestFirst, []), order: isNewestFirst ? 'newest' : 'oldest' },
      'newest',
      [''],
    )
  return positions
}

/** Yields matching records of all folders by time, those of one folder in the order of insertion. */
async function* mergeLogs<T, F extends TimeRangeFilter>(
  logs: readonly LineLog[],
  layout: JournalLayout<T, F>,
  isNewestFirst: boolean,
  positions: readonly LinePosition[],
  filter: F | undefined,
): AsyncGenerator<PageHead<T>> {
  const only = filter && layout.onlyFolder(filter)
  const walks = logs.map((log, i) =>
    matchingRecords(
      log,
      i,
      layout,
      isNewestFirst,
      only === undefined || only === i ? positions[i] : undefined,
      filter,
    ),
  )
  const next = async (i: number) => (await walks[i]?.next())?.value as PageHead<T> | undefined
  try {
    const heads = await Promise.all(walks.map((_, i) => next(i)))
    for (
      let best = pickNext(heads, isNewestFirst);
      best !== undefined;
      best = pickNext(heads, isNewestFirst)
    ) {
      yield best
      heads[best.logIndex] = await next(best.logIndex)
    }
  } finally {
    await Promise.all(walks.map((walk) => walk.return(undefined)))
  }
}

/** Records of a later folder are newer than those of an earlier one with the same time, so that both orders mirror each other. */
function pickNext<T>(
  heads: readonly (PageHead<T> | undefined)[],
  isNewestFirst: boolean,
): PageHead<T> | undefined {
  return heads.reduce((best, head) => {
    if (best === undefined || head === undefined) return best ?? head
    return (isNewestFirst ? head.time >= best.time : head.time < best.time) ? head : best
  }, undefined)
}

async function* matchingRecords<T, F extends TimeRangeFilter>(
  log: LineLog,
  index: number,
  layout: JournalLayout<T, F>,
  isNewestFirst: boolean,
  position: LinePosition | undefined,
  filter: F | undefined,
): AsyncGenerator<PageHead<T>> {
  if (position === undefined) return
  const needles = requiredTexts(filter)
  for await (const found of log.walk(isNewestFirst, position)) {
    if (!needles.every((alternatives) => alternatives.some((needle) => found.text.includes(needle)))) continue
    const record = decodeLine(layout, found.text)
    if (record === undefined) continue
    if (filter !== undefined && !matchesFilter(layout.recordFilter, record, filter)) continue
    yield { ...found, logIndex: index, time: layout.recordFilter.timeOf(record).getTime(), record }
  }
}

/** The record of a line; undefined for the partial line of a killed process. */
export function decodeLine<T, F>(layout: JournalLayout<T, F>, text: string): T | undefined {
  try {
    const decoded = layout.codec.safeDecode(JSON.parse(text))
    return decoded.success ? (decoded.data as T) : undefined
  } catch {
    return undefined
  }
}

/** The time of a line without parsing it: the field is before all fields with texts of users. NaN for a partial line. */
export function parseTime(text: string, timeField: string): number {
  const opening = `"${timeField}":"`
  const found = text.indexOf(opening)
  if (found < 0 || !text.endsWith('}')) return Number.NaN
  const start = found + opening.length
  return Date.parse(text.slice(start, text.indexOf('"', start)))
}

const NON_TEXT_FILTERS = new Set(['limit', 'cursor', 'order', 'after'])

/** Texts of which a matching line must contain one per list. Most lines that do not match need not be parsed. */
function requiredTexts(filter: object | undefined): string[][] {
  return Object.entries(filter ?? {}).flatMap(([key, value]: [string, unknown]) => {
    if (NON_TEXT_FILTERS.has(key)) return []
    if (typeof value === 'string') return [[JSON.stringify(value)]]
    return Array.isArray(value) ? [value.map((each) => JSON.stringify(each))] : []
  })
}
