import { HoldfastError } from 'holdfast'
import type { PageOptions } from './store.js'

/** How many items a page has where nobody says. */
const DEFAULT_LIMIT = 100

/** Where a page ended: what the backend needs to go on from there, and in which order it went. */
type CursorPosition = readonly (string | number)[]

/** Page options with their defaults filled in, checked. */
export interface Paging {
  limit: number
  isNewestFirst: boolean
  /** Where to go on. */
  after: CursorPosition | undefined
}

const rejectOption = (option: string, problem: string): never => {
  throw new HoldfastError('INVALID_OPTIONS', `${option} ${problem}`, { details: [`${option}: ${problem}`] })
}

/** Writes a position as a cursor. It means something to the list it came from and to nobody else. */
export function encodeCursor(newest: boolean, position: CursorPosition): string {
  return Buffer.from(JSON.stringify([newest ? 'newest' : 'oldest', ...position])).toString('base64url')
}

/**
 * Reads page options. `example` is an example of the positions that the list writes: a cursor whose parts are of other
 * types, or that was made in the other order, is refused.
 */
export function parsePaging(
  options: PageOptions | undefined,
  order: 'oldest' | 'newest',
  example: CursorPosition,
): Paging {
  const { limit = DEFAULT_LIMIT, cursor } = options ?? {}
  const wanted = options?.order ?? order
  if (wanted !== 'oldest' && wanted !== 'newest')
    rejectOption('order', `is ${JSON.stringify(wanted)}; it takes 'oldest' or 'newest'`)
  if (!(limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit >= 1)))
    rejectOption('limit', `is ${JSON.stringify(limit)}; it takes a whole number from 1`)
  const isNewestFirst = wanted === 'newest'
  return {
    limit,
    isNewestFirst,
    after: cursor === undefined ? undefined : decodeCursor(cursor, isNewestFirst, example),
  }
}

function decodeCursor(cursor: string, newest: boolean, example: CursorPosition): CursorPosition {
  const [order, ...position] = parseCursor(cursor)
  if (order !== 'newest' && order !== 'oldest')
    rejectOption('cursor', 'is not understood; pass the cursor of an earlier page as it came')
  if ((order === 'newest') !== newest)
    rejectOption('cursor', `belongs to a list in the order '${String(order)}'; ask for the same order again`)
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
