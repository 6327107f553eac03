import { HoldfastError } from 'holdfast'
import type { PageOptions } from './store.js'

/** How many items a page has where nobody says. */
const LIMIT = 100

/** Where a page ended: what the backend needs to go on from there, and in which order it went. */
type Position = readonly (string | number)[]

/** Page options with their defaults filled in, checked. */
export interface Paging {
  limit: number
  newest: boolean
  /** Where to go on. */
  after: Position | undefined
}

const refuse = (option: string, problem: string): never => {
  throw new HoldfastError('INVALID_OPTIONS', `${option} ${problem}`, { details: [`${option}: ${problem}`] })
}

/** Writes a position as a cursor. It means something to the list it came from and to nobody else. */
export function encodeCursor(newest: boolean, position: Position): string {
  return Buffer.from(JSON.stringify([newest ? 'newest' : 'oldest', ...position])).toString('base64url')
}

/**
 * Reads page options. `shape` is an example of the positions that the list writes: a cursor whose parts are of other
 * types, or that was made in the other order, is refused.
 */
export function readPaging(
  options: PageOptions | undefined,
  order: 'oldest' | 'newest',
  shape: Position,
): Paging {
  const { limit = LIMIT, cursor } = options ?? {}
  const wanted = options?.order ?? order
  if (wanted !== 'oldest' && wanted !== 'newest')
    refuse('order', `is ${JSON.stringify(wanted)}; it takes 'oldest' or 'newest'`)
  if (!(limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit >= 1)))
    refuse('limit', `is ${JSON.stringify(limit)}; it takes a whole number from 1`)
  const newest = wanted === 'newest'
  return { limit, newest, after: cursor === undefined ? undefined : decode(cursor, newest, shape) }
}

function decode(cursor: string, newest: boolean, shape: Position): Position {
  const [order, ...position] = parse(cursor)
  if (order !== 'newest' && order !== 'oldest')
    refuse('cursor', 'is not understood; pass the cursor of an earlier page as it came')
  if ((order === 'newest') !== newest)
    refuse('cursor', `belongs to a list in the order '${String(order)}'; ask for the same order again`)
  const fits =
    position.length === shape.length && position.every((part, i) => typeof part === typeof shape[i])
  if (!fits) refuse('cursor', 'belongs to another list; pass it to the list it came from')
  return position as Position
}

function parse(cursor: unknown): unknown[] {
  if (typeof cursor !== 'string') return []
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
