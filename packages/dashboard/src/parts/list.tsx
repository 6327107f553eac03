import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { get } from '../api/call.js'
import { type Loaded, useLoad } from '../api/load.js'
import type { Page } from '../api/types.js'
import { count } from '../format.js'
import type { Query } from '../route.js'
import { Problem } from './basics.js'

const PAGE = 50

export interface Listed<T> extends Loaded<{ items: T[]; cursor?: string }> {
  more(): void
  readonly fetching: boolean
}

/** A stored list, its first page kept fresh; further ones come when they are asked for. */
export function useList<T>(path: string, query: Query, every?: number): Listed<T> {
  const key = `${path} ${JSON.stringify(query)}`
  const older = useSignal<{ key: string; items: T[]; cursor?: string } | undefined>(undefined)
  const fetching = useSignal(false)
  const kept = older.value?.key === key ? older.value : undefined
  // Where older ones were asked for, the list stands still, so that nothing moves under the reader's hand.
  const loaded = useLoad(
    key,
    (signal) => get<Page<T>>(path, { limit: String(PAGE), ...query }, signal),
    kept === undefined ? every : undefined,
  )
  const { data } = loaded
  const cursor = kept === undefined ? data?.cursor : kept.cursor
  const more = (): void => {
    if (cursor === undefined || fetching.peek()) return
    fetching.value = true
    void get<Page<T>>(path, { limit: String(PAGE), ...query, cursor })
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
  return { ...loaded, data: whole, more, reload, fetching: fetching.value }
}

/** A list with its beginning, its end and what there is when it is empty. */
export function List<T>(props: {
  of: Listed<T>
  empty: ComponentChildren
  children: (items: readonly T[]) => ComponentChildren
}) {
  const { data, error, more, fetching } = props.of
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {data === undefined && error === undefined && <p aria-busy="true">Loading…</p>}
      {data !== undefined && (data.items.length === 0 ? props.empty : props.children(data.items))}
      {data !== undefined && data.items.length > 0 && (
        <p class="hint more">
          {count(data.items.length)} shown.{' '}
          {data.cursor !== undefined && (
            <button type="button" class="small secondary" aria-busy={fetching} onClick={more}>
              Show more
            </button>
          )}
        </p>
      )}
    </>
  )
}
