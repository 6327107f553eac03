import { fieldError } from './validation.js'

interface PageCursor {
  readonly at: number
  readonly id: string
}

const encodeCursor = ({ at, id }: PageCursor): string =>
  Buffer.from(JSON.stringify([at, id])).toString('base64url')

function decodeCursor(cursor: string): PageCursor {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (Number.isSafeInteger(at) && (at as number) >= 0 && typeof id === 'string')
      return { at: at as number, id }
  } catch {
    // Reported below.
  }
  throw fieldError(
    'query',
    'cursor',
    'expected the cursor of an earlier page; leave it out for the first page',
  )
}

/**
 * A page of a list in memory. A cursor holds the id and the index of the last item of the previous page. The item is found
 * by its index where the list did not change, else by a search; where it is gone, the page begins at its old index.
 */
export function paginate<T>(
  list: readonly T[],
  idOf: (item: T) => string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): { items: T[]; cursor?: string } {
  let start = 0
  if (cursor !== undefined) {
    const { at, id } = decodeCursor(cursor)
    const candidate = list[at]
    const found =
      candidate !== undefined && idOf(candidate) === id ? at : list.findIndex((item) => idOf(item) === id)
    start = found < 0 ? Math.min(at, list.length) : found + 1
  }
  const items = list.slice(start, start + limit)
  const last = items.at(-1)
  if (last === undefined || start + limit >= list.length) return { items }
  return { items, cursor: encodeCursor({ at: start + limit - 1, id: idOf(last) }) }
}
