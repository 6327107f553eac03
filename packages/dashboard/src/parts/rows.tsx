import { useSignal } from '@preact/signals'
import type { ComponentChildren, Key } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Rows beyond what is seen, so that scrolling shows no holes. */
const SPARE = 8

/**
 * A long list of rows of one height (px), of which only those that are seen are made. Screen readers are told how long it
 * is and where each row stands.
 */
export function Rows<T>(props: {
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
  const room = useSignal(600)

  useEffect(() => {
    const element = host.current as HTMLDivElement
    const watch = new ResizeObserver(() => {
      room.value = element.clientHeight
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [])

  const first = Math.max(0, Math.floor(top.value / height) - SPARE)
  const last = Math.min(items.length, Math.ceil((top.value + room.value) / height) + SPARE)
  return (
    <div
      ref={host}
      class="rows"
      // What scrolls must be reachable by keyboard.
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onScroll={(scroll) => {
        top.value = scroll.currentTarget.scrollTop
      }}
    >
      {props.head}
      <div role="list" class="rows-all" style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, index) => (
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
        ))}
      </div>
    </div>
  )
}
