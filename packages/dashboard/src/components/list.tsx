import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { getJson } from '../api/client.js'
import type { WirePage } from '../api/types.js'
import { type QueryResult, useQuery } from '../api/use-query.js'
import { formatCount } from '../format.js'
import type { UrlQuery } from '../route.js'
import { ErrorMessage } from './basics.js'
import { idOf, mergeFirstPage } from './list-items.js'

const PAGE_SIZE = 50

/** The maximum number of items of one response. */
const MAX_PAGE_SIZE = 1000

export interface ListResult<T> extends QueryResult<{ items: T[]; cursor?: string }> {
  loadMore(): void
  readonly isFetching: boolean
  /** How many items on the server are newer than the shown ones. 0 while only the first page is shown, which follows the server. */
  readonly newCount: number
  /** Whether there can be more new items than `newCount`. */
  readonly hasMoreNew: boolean
  /** Loads all shown pages again, for example after an action of the user. */
  reload(): void
  /** Looks for new items without moving the shown rows, for example after an event. */
  check(): void
}

/** Loads at least `count` items from the start of a list. */
async function loadItems<T>(path: string, query: UrlQuery, count: number): Promise<WirePage<T>> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const limit = String(Math.min(Math.max(count - items.length, 1), MAX_PAGE_SIZE))
    const page = await getJson<WirePage<T>>(path, { ...query, limit, cursor })
    items.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined && items.length < count)
  return { items, ...(cursor === undefined ? {} : { cursor }) }
}

/**
 * A paginated list. While only the first page is shown it follows the server. After further pages were loaded the rows stay
 * where they are: rows that the server still has on the first page are updated in place, new ones are only counted.
 */
export function useList<T extends object>(path: string, query: UrlQuery, every?: number): ListResult<T> {
  const key = `${path} ${JSON.stringify(query)}`
  const extended = useSignal<({ key: string } & WirePage<T>) | undefined>(undefined)
  const isFetching = useSignal(false)
  const fetchError = useSignal<Error | undefined>(undefined)
  const shown = extended.value?.key === key ? extended.value : undefined
  const loaded = useQuery(
    key,
    (signal) => getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query }, signal),
    every,
  )

  const fetchInto = (load: () => Promise<WirePage<T>>): void => {
    if (isFetching.peek()) return
    isFetching.value = true
    fetchError.value = undefined
    load()
      .then((page) => {
        extended.value = { key, ...page }
      })
      .catch((error: Error) => {
        fetchError.value = error
      })
      .finally(() => {
        isFetching.value = false
      })
  }
  const merged = shown === undefined ? undefined : mergeFirstPage(shown.items, loaded.data?.items ?? [])
  const items = merged?.items ?? loaded.data?.items
  const cursor = shown === undefined ? loaded.data?.cursor : shown.cursor
  const loadMore = (): void => {
    if (cursor === undefined || items === undefined) return
    fetchInto(async () => {
      const page = await getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query, cursor })
      const known = new Set(items.map(idOf))
      return { ...page, items: [...items, ...page.items.filter((item) => !known.has(idOf(item)))] }
    })
  }
  const reload = (): void => {
    if (shown !== undefined) fetchInto(() => loadItems<T>(path, query, shown.items.length))
    loaded.reload()
  }
  return {
    ...loaded,
    error: loaded.error ?? fetchError.value,
    data: items && { items, ...(cursor === undefined ? {} : { cursor }) },
    loadMore,
    reload,
    check: loaded.reload,
    newCount: merged?.newCount ?? 0,
    hasMoreNew: merged?.hasMoreNew === true && loaded.data?.cursor !== undefined,
    isFetching: isFetching.value,
  }
}

/** The button "12 new – refresh" of a list whose rows stay where they are. */
function NewItems({
  of,
}: {
  of: Pick<ListResult<object>, 'newCount' | 'hasMoreNew' | 'reload' | 'isFetching'>
}) {
  return (
    <div role="status" class="new-items">
      {of.newCount > 0 && (
        <button type="button" class="small secondary" aria-busy={of.isFetching} onClick={of.reload}>
          {formatCount(of.newCount)}
          {of.hasMoreNew && '+'} new – refresh
        </button>
      )}
    </div>
  )
}

/** Shows a list with its loading state, its error, its empty state, the number of new items and a button for more. */
export function ListView<T extends object>(props: {
  of: ListResult<T>
  empty: ComponentChildren
  children: (items: readonly T[]) => ComponentChildren
}) {
  const { data, error, loadMore, isFetching } = props.of
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} />}
      {data === undefined && error === undefined && <p aria-busy="true">Loading…</p>}
      <NewItems of={props.of} />
      {data !== undefined && (data.items.length === 0 ? props.empty : props.children(data.items))}
      {data !== undefined && data.items.length > 0 && (
        <p class="hint more">
          {formatCount(data.items.length)} shown.{' '}
          {data.cursor !== undefined && (
            <button type="button" class="small secondary" aria-busy={isFetching} onClick={loadMore}>
              Show more
            </button>
          )}
        </p>
      )}
    </>
  )
}
