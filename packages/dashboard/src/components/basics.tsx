import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { QueryResult } from '../api/use-query.js'
import { formatName } from '../format.js'
import { useItemTitle } from './page-title.js'

export { CopyButton, Id } from './id.js'
export { Time } from './time.js'

/** Symbols that distinguish states without colour. */
const SIGN_BY_STATE: Record<string, string> = {
  closed: '●',
  open: '▲',
  half_open: '◐',
  available: '●',
  resting: '◌',
  drained: '■',
  pending: '◌',
  replaying: '◐',
  completed: '●',
  failed: '▲',
  succeeded: '●',
  running: '◐',
  cancelled: '■',
  timeout: '◷',
  circuit_open: '⊘',
  enabled: '●',
  disabled: '■',
  shadow: '◐',
  WARNING: '◐',
  ERROR: '▲',
  CRITICAL: '◆',
}

const TONE_BY_STATE: Record<string, 'good' | 'bad' | 'warn' | 'plain'> = {
  closed: 'good',
  available: 'good',
  completed: 'good',
  succeeded: 'good',
  enabled: 'good',
  open: 'bad',
  failed: 'bad',
  ERROR: 'bad',
  CRITICAL: 'bad',
  half_open: 'warn',
  resting: 'warn',
  replaying: 'warn',
  running: 'warn',
  pending: 'warn',
  WARNING: 'warn',
  shadow: 'warn',
  timeout: 'warn',
  circuit_open: 'warn',
}

/** A state as a word, a symbol and a colour. */
export function StateLabel({ of }: { of: string }) {
  return (
    <span class={`state ${TONE_BY_STATE[of] ?? 'plain'}`}>
      <span aria-hidden="true">{SIGN_BY_STATE[of] ?? '○'}</span> {formatName(of)}
    </span>
  )
}

/** The content of a cell without a value. */
export const NoValue = () => <span class="none">–</span>

/** The message of an empty list, with a hint what to do. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

export function ErrorMessage({ error }: { error: Error }) {
  return (
    <p class="problem" role="alert">
      {error.message}
    </p>
  )
}

/** Shows loaded data, the loading indicator or the error. */
export function QueryView<T>({
  of,
  children,
}: {
  of: QueryResult<T>
  children: (data: T) => ComponentChildren
}) {
  const { data, error } = of
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} />}
      {data !== undefined ? children(data) : error === undefined && <p aria-busy="true">Loading…</p>}
    </>
  )
}

/** The header of a page. Where its title is the name of an item, the title of the browser tab names the item too. */
export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  useItemTitle(title)
  return (
    <header class="head">
      <h1>{title}</h1>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

/** A section of a page with a title. */
export function Panel(props: {
  title: string
  actions?: ComponentChildren
  children: ComponentChildren
  class?: string
}) {
  return (
    <section class={`panel ${props.class ?? ''}`} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

/** The header of a numeric column, aligned like its numbers. */
export const numericHead = (text: string) => <span class="number">{text}</span>

/** A table that scrolls horizontally where it is too wide. */
export function Table(props: {
  label: string
  head: readonly ComponentChildren[]
  /** The direction in which each column is sorted; undefined for a column that cannot be sorted. */
  sorted?: readonly ('ascending' | 'descending' | 'none' | undefined)[]
  /** The row of totals below the other rows. */
  foot?: ComponentChildren
  children: ComponentChildren
}) {
  const table = useRef<HTMLTableElement>(null)
  // On a narrow screen a row is a card, whose cells show the names of their columns.
  useLayoutEffect(() => {
    const [head, ...rows] = table.current?.rows ?? []
    const names = Array.from(head?.cells ?? [], ({ textContent }) => textContent || 'Select')
    for (const row of rows)
      for (const [index, cell] of Array.from(row.cells).entries()) cell.dataset['name'] = names[index] ?? ''
  })
  return (
    // A scrollable region must be focusable for keyboard users.
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table ref={table}>
        <thead>
          <tr>
            {props.head.map((cell, index) => (
              <th scope="col" aria-sort={props.sorted?.[index]}>
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
        {props.foot !== undefined && <tfoot>{props.foot}</tfoot>}
      </table>
    </div>
  )
}

/** A value as formatted JSON. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    // A scrollable region must be focusable for keyboard users.
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}

/** A bar chart of named values. */
export function Bars(props: {
  label: string
  values: readonly (readonly [string, number])[]
  show: (n: number) => string
}) {
  const maximum = Math.max(...props.values.map(([, value]) => value), 1)
  return (
    <ul class="bars" aria-label={props.label}>
      {props.values.map(([name, value]) => (
        <li key={name}>
          <span class="bar-name">{name}</span>
          <span class="bar-value">{props.show(value)}</span>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${(value / maximum) * 100}%` }} />
          </span>
        </li>
      ))}
    </ul>
  )
}
