import { fetchPages, getJson } from '../api/client.js'
import type {
  WireBreaker,
  WireDeadLetter,
  WireOperations,
  WirePage,
  WirePolicy,
  WireSession,
} from '../api/types.js'
import { clock } from '../browser.js'
import { urlFor } from '../route.js'

/** A result of the search: what it is, its name, and its page. */
export interface SearchResult {
  readonly type: string
  readonly name: string
  readonly href: string
}

/** How many results of one type are shown. */
const MAX_RESULTS = 8

/** Policies, operations and breakers, which are searched in the browser by a part of their id. */
export interface SearchIndex {
  readonly policies: readonly string[]
  /** The operations of the last day. */
  readonly operations: readonly string[]
  readonly breakers: readonly string[]
  /** Whether there are more breakers than are listed. */
  readonly isPartial: boolean
}

async function loadPolicyIds(signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  for await (const policies of fetchPages<WirePolicy>('/policies', {}, 'items', signal))
    ids.push(...policies.map(({ id }) => id))
  return ids
}

/** The length of the time in which operations are found. */
const OPERATIONS_MS = 86_400_000

async function loadOperations(signal: AbortSignal): Promise<string[]> {
  const from = new Date(clock.wall() - OPERATIONS_MS).toISOString()
  const { operations } = await getJson<WireOperations>('/metrics/operations', { from, step: '86400' }, signal)
  return operations.map(({ operation }) => operation)
}

/** Loads what is searched in the browser: all policies and operations, and the first breakers. */
export async function loadIndex(signal: AbortSignal): Promise<SearchIndex> {
  const [policies, operations, breakers] = await Promise.all([
    loadPolicyIds(signal),
    loadOperations(signal),
    getJson<{ circuit_breakers: WireBreaker[]; cursor?: string }>(
      '/circuit-breakers',
      { limit: '1000' },
      signal,
    ),
  ])
  return {
    policies,
    operations,
    breakers: breakers.circuit_breakers.map(({ id }) => id),
    isPartial: breakers.cursor !== undefined,
  }
}

/** The ids that contain a text, those that begin with it first. */
function matchIds(ids: readonly string[], text: string): string[] {
  const lower = text.toLowerCase()
  return ids
    .filter((id) => id.toLowerCase().includes(lower))
    .toSorted((a, b) => Number(b.toLowerCase().startsWith(lower)) - Number(a.toLowerCase().startsWith(lower)))
    .slice(0, MAX_RESULTS)
}

export const searchIndex = (
  { policies, operations, breakers }: SearchIndex,
  text: string,
): SearchResult[] => [
  ...matchIds(operations, text).map((id) => ({
    type: 'Operation',
    name: id,
    href: urlFor('/operations', { id }),
  })),
  ...matchIds(policies, text).map((id) => ({ type: 'Policy', name: id, href: urlFor('/policies', { id }) })),
  ...matchIds(breakers, text).map((id) => ({
    type: 'Breaker',
    name: id,
    href: urlFor('/breakers', { id }),
  })),
]

/** Whether the server has a record with exactly this id. */
const exists = (path: string, signal: AbortSignal): Promise<boolean> =>
  getJson(path, {}, signal).then(
    () => true,
    () => false,
  )

const hasItems = async (path: string, query: Record<string, string>, signal: AbortSignal): Promise<boolean> =>
  (await getJson<WirePage<WireSession | WireDeadLetter>>(path, { ...query, limit: '1' }, signal)).items
    .length > 0

/** The kinds of records that the server finds by an exact id. `isPossible` avoids requests that cannot succeed. */
const LOOKUPS: readonly {
  type: string
  isPossible?: (text: string) => boolean
  find: (text: string, signal: AbortSignal) => Promise<boolean>
  href: (text: string) => string
}[] = [
  {
    type: 'Session',
    isPossible: (text) => /_\d{10,}_/.test(text),
    find: (text, signal) => exists(`/sessions/${encodeURIComponent(text)}`, signal),
    href: (id) => urlFor('/sessions', { id }),
  },
  {
    type: 'Dead letter',
    isPossible: (text) => text.startsWith('dlq_'),
    find: (text, signal) => exists(`/dead-letters/${encodeURIComponent(text)}`, signal),
    href: (id) => urlFor('/dead-letters', { id }),
  },
  {
    type: 'Sessions of operation',
    find: (operation, signal) => hasItems('/sessions', { operation }, signal),
    href: (operation) => urlFor('/sessions', { operation }),
  },
  {
    type: 'Sessions with correlation ID',
    find: (correlation_id, signal) => hasItems('/sessions', { correlation_id }, signal),
    href: (correlation_id) => urlFor('/sessions', { correlation_id }),
  },
  {
    type: 'Dead letters of item',
    find: (item_id, signal) => hasItems('/dead-letters', { item_id }, signal),
    href: (item_id) => urlFor('/dead-letters', { item_id }),
  },
]

/** Searches the records of the server by an exact id. */
export async function searchRecords(
  text: string,
  isPartial: boolean,
  signal: AbortSignal,
): Promise<SearchResult[]> {
  const breaker = {
    type: 'Breaker',
    isPossible: (id: string) => isPartial && id.includes(':'),
    find: (id: string) => exists(`/circuit-breakers/${encodeURIComponent(id)}`, signal),
    href: (id: string) => urlFor('/breakers', { id }),
  }
  const found = await Promise.all(
    [...LOOKUPS, breaker].map(async ({ type, isPossible, find, href }) =>
      isPossible?.(text) !== false && (await find(text, signal).catch(() => false))
        ? [{ type, name: text, href: href(text) }]
        : [],
    ),
  )
  return found.flat()
}
