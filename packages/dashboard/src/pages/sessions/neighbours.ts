import { getJson } from '../../api/client.js'
import type { WirePage, WireSession } from '../../api/types.js'
import type { UrlQuery } from '../../route.js'

/** How many sessions are read to find the next one. Only sessions that start in the same millisecond need more than two. */
const READ_SIZE = 20

/** The sessions before and after another one, by their start. */
export interface Neighbours {
  readonly previous: string | undefined
  readonly next: string | undefined
}

/** The id that follows a session in a list that contains it. */
const idAfter = (items: readonly WireSession[], id: string): string | undefined =>
  items[items.findIndex(({ session_id }) => session_id === id) + 1]?.session_id

/** Finds the previous and the next session among those that match the filter of the list. */
export async function fetchNeighbours(
  { session_id, start_time }: WireSession,
  filter: UrlQuery,
  signal: AbortSignal,
): Promise<Neighbours> {
  const read = async (query: UrlQuery): Promise<string | undefined> => {
    const { items } = await getJson<WirePage<WireSession>>(
      '/sessions',
      { ...filter, ...query, limit: String(READ_SIZE) },
      signal,
    )
    return idAfter(items, session_id)
  }
  const afterStart = new Date(Date.parse(start_time) + 1).toISOString()
  const [previous, next] = await Promise.all([
    read({ order: 'newest', to: afterStart }),
    read({ order: 'oldest', from: start_time }),
  ])
  return { previous, next }
}
