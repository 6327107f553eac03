import { HoldfastError } from 'holdfast'
import type { PageOptions } from './journals.js'

/** The size of a page without a `limit`. */
const DEFAULT_LIMIT = 100

/** Where a page ended: the values from which the backend continues. */
type CursorPosition = readonly (string | number)[]

/** Validated page options with defaults. */
export interface Paging {
  limit: number
  isNewestFirst: boolean
  /** The position after which the page starts. */
  after: CursorPosition | undefined
}

const rejectOption = (option: string, problem: string): never => {
  const details = [`${option}: ${problem}`]
  throw Object.assign(new HoldfastError('INVALID_OPTIONS', `${option}: ${problem}`, { details }), {
    problems: [{ path: option, message: problem }],
  })
}

/** Encodes a position as a cursor, which only the same list accepts. */
export function encodeCursor(isNewestFirst: boolean, position: CursorPosition): string {
  return Buffer.from(JSON.stringify([isNewestFirst ? 'newest' : 'oldest', ...position])).toString('base64url')
}

/**
 * Parses page options. `example` is a position of the same list: a cursor with parts of other types, or with the other order, is
 * rejected.
 *
 * @throws INVALID_OPTIONS
 */
export function parsePaging(
  options: PageOptions | undefined,
  order: 'oldest' | 'newest',
  example: CursorPosition,
): Paging {
  const { limit = DEFAULT_LIMIT, cursor } = options ?? {}
  const wanted = options?.order ?? order
  if (wanted !== 'oldest' && wanted !== 'newest')
    rejectOption('order', `expected 'oldest' or 'newest', got ${JSON.stringify(wanted)}`)
  if (!(limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit >= 1)))
    rejectOption('limit', `expected a whole number from 1, got ${JSON.stringify(limit)}`)
  const isNewestFirst = wanted === 'newest'
  return {
    limit,
    isNewestFirst,
    after: cursor === undefined ? undefined : decodeCursor(cursor, isNewestFirst, example),
  }
}

function decodeCursor(cursor: string, isNewestFirst: boolean, example: CursorPosition): CursorPosition {
  const [order, ...position] = parseCursor(cursor)
  if (order !== 'newest' && order !== 'oldest')
    rejectOption('cursor', 'expected the cursor of an earlier page')
  if ((order === 'newest') !== isNewestFirst)
    rejectOption('cursor', `belongs to a list in the order '${String(order)}'; request the same order`)
  const isValid =
    position.length === example.length && position.every((part, i) => typeof part === typeof example[i])
  if (!isValid) rejectOption('cursor', 'belongs to another list; pass it to the list it came from')
  return position as CursorPosition
}

function parseCursor(cursor: unknown): unknown[] {
  if (typeof cursor !== 'string') return []
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
