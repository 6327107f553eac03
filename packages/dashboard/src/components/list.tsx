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

/** A paginated list. The first page is refreshed; further pages are loaded on request. */
export function useList<T>(path: string, query: UrlQuery, every?: number): ListResult<T> {
  const key = `${path} ${JSON.stringify(query)}`
  const furtherPages = useSignal<{ key: string; items: T[]; cursor?: string } | undefined>(undefined)
  const isFetching = useSignal(false)
  const further = furtherPages.value?.key === key ? furtherPages.value : undefined
  // The list is not refreshed after further pages were loaded, so that rows do not move while the user reads.
  const loaded = useQuery(
    key,
    (signal) => getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query }, signal),
    further === undefined ? every : undefined,
  )
  const { data } = loaded
  const cursor = further === undefined ? data?.cursor : further.cursor
  const loadMore = (): void => {
    if (cursor === undefined || isFetching.peek()) return
    isFetching.value = true
    void getJson<WirePage<T>>(path, { limit: String(PAGE_SIZE), ...query, cursor })
      .then((page) => {
        const items = [...(further?.items ?? []), ...page.items]
        furtherPages.value = { key, items, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) }
      })
      .catch(() => undefined)
      .finally(() => {
        isFetching.value = false
      })
  }
  const whole = data && {
    items: further === undefined ? data.items : [...data.items, ...further.items],
    ...(cursor === undefined ? {} : { cursor }),
  }
  const reload = (): void => {
    furtherPages.value = undefined
    loaded.reload()
  }
  return { ...loaded, data: whole, loadMore, reload, isFetching: isFetching.value }
}

/** Shows a list with its loading state, its error, its empty state and a button for more. */
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
