import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { getJson } from '../api/client.js'
import type { WirePage } from '../api/types.js'
import { type QueryResult, useQuery } from '../api/use-query.js'
import { formatCount } from '../format.js'
import type { UrlQuery } from '../route.js'
import { ErrorMessage } from './basics.js'

const PAGE_SIZE = 50

export interface ListResult<T> extends QueryResult<{ items: T[]; cursor?: string }> {
  loadMore(): void
  readonly isFetching: boolean
}

/** A stored list, its first page kept fresh; further ones come when they are asked for. */
export function useList<T>(path: string, query: UrlQuery, every?: number): ListResult<T> {
  const key = `${path} ${JSON.stringify(query)}`
  const older = useSignal<{ key: string; items: T[]; cursor?: string } | undefined>(undefined)
  const fetching = useSignal(false)
  const kept = older.value?.key === key ? older.value : undefined
  // Where older ones were asked for, the list stands still, so that nothing moves under the reader's hand.
  const loaded = useQuery(
    key,
    (signal) => getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query }, signal),
    kept === undefined ? every : undefined,
  )
  const { data } = loaded
  const cursor = kept === undefined ? data?.cursor : kept.cursor
  const loadMore = (): void => {
    if (cursor === undefined || fetching.peek()) return
    fetching.value = true
    void getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query, cursor })
      .then((page) => {
        const items = [...(kept?.items ?? []), ...page.items]
        older.value = { key, items, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) }
      })
      .catch(() => undefined)
      .finally(() => {
        fetching.value = false
      })
  }
  const whole = data && {
    items: kept === undefined ? data.items : [...data.items, ...kept.items],
    ...(cursor === undefined ? {} : { cursor }),
  }
  const reload = (): void => {
    older.value = undefined
    loaded.reload()
  }
  return { ...loaded, data: whole, loadMore, reload, isFetching: fetching.value }
}

/** A list with its beginning, its end and what there is when it is empty. */
export function ListView<T>(props: {
  of: ListResult<T>
  empty: ComponentChildren
  children: (items: readonly T[]) => ComponentChildren
}) {
  const { data, error, loadMore, isFetching } = props.of
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} />}
      {data === undefined && error === undefined && <p aria-busy="true">Loading…</p>}
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
