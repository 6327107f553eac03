import { fieldError } from './errors.js'

interface PageCursor {
  readonly at: number
  readonly id: string
}

const encodeCursor = (mark: PageCursor): string =>
  Buffer.from(JSON.stringify([mark.at, mark.id])).toString('base64url')

function decodeCursor(cursor: string): PageCursor {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (Number.isSafeInteger(at) && (at as number) >= 0 && typeof id === 'string')
      return { at: at as number, id }
  } catch {
    // said below
  }
  throw fieldError('query', 'cursor', 'not one that an earlier page ended with; leave it out to start anew')
}

/**
 * A page of a list that is in memory. A cursor names the last item that was seen, and where it stood: it is found at once
 * where nothing moved, by a look through the list where something did, and the page goes on from its old place where it
 * is gone.
 */
export function paginate<T>(
  list: readonly T[],
  idOf: (item: T) => string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): { items: T[]; cursor?: string } {
  let start = 0
  if (cursor !== undefined) {
    const { at, id } = decodeCursor(cursor)
    const there = list[at]
    const found = there !== undefined && idOf(there) === id ? at : list.findIndex((item) => idOf(item) === id)
    start = found < 0 ? Math.min(at, list.length) : found + 1
  }
  const items = list.slice(start, start + limit)
  const last = items.at(-1)
  if (last === undefined || start + limit >= list.length) return { items }
  return { items, cursor: encodeCursor({ at: start + limit - 1, id: idOf(last) }) }
}
