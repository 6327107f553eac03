import { useSignal } from '@preact/signals'
import type { ComponentChildren, Key, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** How many rows are rendered beyond the visible ones, so that scrolling shows no gaps. */
const OVERSCAN_ROWS = 4

/** The rows of the last render. Unchanged rows are reused and not compared again. */
class RowCache<T> {
  private settings = ''
  private renderer: unknown
  private previousRows = new Map<number, { item: T; row: VNode }>()
  private rows = new Map<number, { item: T; row: VNode }>()

  /** Starts a render. The previous rows are reused only with the same renderer and settings. */
  startRender(renderer: unknown, settings: string): void {
    this.previousRows = renderer === this.renderer && settings === this.settings ? this.rows : new Map()
    this.rows = new Map()
    this.renderer = renderer
    this.settings = settings
  }

  rowFor(item: T, index: number, createRow: () => VNode): VNode {
    const known = this.previousRows.get(index)
    const row = known?.item === item ? known.row : createRow()
    this.rows.set(index, { item, row })
    return row
  }
}

/**
 * A long list of rows with the same height in pixels, of which only the visible ones are rendered. Screen readers get the
 * length of the list and the position of each row.
 */
export function VirtualRows<T>(props: {
  label: string
  items: readonly T[]
  height: number
  keyOf: (item: T) => Key
  /** The header above the rows. */
  head?: ComponentChildren
  children: (item: T) => ComponentChildren
}) {
  const { items, height } = props
  const host = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const rowCache = useRef(new RowCache<T>())
  const viewportHeight = useSignal(600)

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const observer = new ResizeObserver(() => {
      viewportHeight.value = element.clientHeight
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // The index of the first visible row and not the pixel offset, so that most scroll events cause no render.
  const first = Math.max(0, top.value - OVERSCAN_ROWS)
  const last = Math.min(
    items.length,
    top.value + Math.ceil(viewportHeight.value / height) + 1 + OVERSCAN_ROWS,
  )
  rowCache.current.startRender(props.children, `${items.length} ${height}`)
  return (
    <div
      ref={host}
      class="rows"
      // A scrollable region must be focusable for keyboard users.
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
          rowCache.current.rowFor(item, first + index, () => (
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
