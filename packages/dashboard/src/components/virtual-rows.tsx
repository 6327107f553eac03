import { useSignal } from '@preact/signals'
import type { ComponentChildren, Key, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Rows beyond what is seen, so that scrolling shows no holes. */
const OVERSCAN_ROWS = 4

/** The rows that were made last: of those that are still the same, nothing is looked at again. */
class RowCache<T> {
  private settings = ''
  private renderer: unknown
  private previousRows = new Map<number, { item: T; row: VNode }>()
  private rows = new Map<number, { item: T; row: VNode }>()

  /** Begins anew, with what was made before where it would be made the same way now. */
  startRender(by: unknown, settings: string): void {
    this.previousRows = by === this.renderer && settings === this.settings ? this.rows : new Map()
    this.rows = new Map()
    this.renderer = by
    this.settings = settings
  }

  rowFor(item: T, index: number, make: () => VNode): VNode {
    const known = this.previousRows.get(index)
    const row = known?.item === item ? known.row : make()
    this.rows.set(index, { item, row })
    return row
  }
}

/**
 * A long list of rows of one height (px), of which only those that are seen are made. Screen readers are told how long it
 * is and where each row stands.
 */
export function VirtualRows<T>(props: {
  label: string
  items: readonly T[]
  height: number
  keyOf: (item: T) => Key
  /** What stays above them. */
  head?: ComponentChildren
  children: (item: T) => ComponentChildren
}) {
  const { items, height } = props
  const host = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const created = useRef(new RowCache<T>())
  const room = useSignal(600)

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const watch = new ResizeObserver(() => {
      room.value = element.clientHeight
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [])

  // The row at the top, not the pixel: most steps of a scroll change nothing.
  const first = Math.max(0, top.value - OVERSCAN_ROWS)
  const last = Math.min(items.length, top.value + Math.ceil(room.value / height) + 1 + OVERSCAN_ROWS)
  created.current.startRender(props.children, `${items.length} ${height}`)
  return (
    <div
      ref={host}
      class="rows"
      // What scrolls must be reachable by keyboard.
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onScroll={(scroll) => {
        top.value = Math.floor(scroll.currentTarget.scrollTop / height)
      }}
    >
      {props.head}
      <div role="list" class="rows-all" style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, index) =>
          created.current.rowFor(item, first + index, () => (
            <div
              role="listitem"
              class="row"
              key={props.keyOf(item)}
              aria-setsize={items.length}
              aria-posinset={first + index + 1}
              style={{ top: `${(first + index) * height}px`, height: `${height}px` }}
            >
              {props.children(item)}
            </div>
          )),
        )}
      </div>
    </div>
  )
}
