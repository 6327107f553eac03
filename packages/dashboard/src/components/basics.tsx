import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { QueryResult } from '../api/use-query.js'
import { formatExactTime, formatName, formatRelative } from '../format.js'
import { now } from '../now.js'

/** A point in time as seen from now, with the exact one on hover. */
export function Time({ at }: { at: string | number }) {
  const ms = typeof at === 'number' ? at : Date.parse(at)
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatExactTime(ms)}>
      {formatRelative(ms, now.value)}
    </time>
  )
}

/** Signs that tell states apart without colour. */
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

/** A state by word, sign and colour. */
export function StateLabel({ of }: { of: string }) {
  return (
    <span class={`state ${TONE_BY_STATE[of] ?? 'plain'}`}>
      <span aria-hidden="true">{SIGN_BY_STATE[of] ?? '○'}</span> {formatName(of)}
    </span>
  )
}

/** What stands in a cell where there is nothing to say. */
export const NoValue = () => <span class="none">–</span>

/** What stands where there is nothing, and what to do about it. */
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

/** What was loaded; until then, or where it failed, that. */
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

/** The head of a view. */
export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="head">
      <h1>{title}</h1>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

/** A part of a view under a title of its own. */
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

/** The head of a column of numbers, which stands where they do. */
export const numericHead = (text: string) => <span class="number">{text}</span>

/** A table that scrolls in itself where it is too wide. */
export function Table(props: {
  label: string
  head: readonly ComponentChildren[]
  children: ComponentChildren
}) {
  const table = useRef<HTMLTableElement>(null)
  // Where the screen is narrow a row is a card, and each cell of it says what it is.
  useLayoutEffect(() => {
    const [head, ...rows] = table.current?.rows ?? []
    const names = Array.from(head?.cells ?? [], ({ textContent }) => textContent || 'Choose')
    for (const row of rows)
      for (const [index, cell] of Array.from(row.cells).entries()) cell.dataset['name'] = names[index] ?? ''
  })
  return (
    // What scrolls must be reachable by keyboard.
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table ref={table}>
        <thead>
          <tr>
            {props.head.map((cell) => (
              <th scope="col">{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  )
}

/** Any value, readable. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    // What scrolls must be reachable by keyboard.
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}

/** Values by name, as bars. */
export function Bars(props: {
  label: string
  values: readonly (readonly [string, number])[]
  show: (n: number) => string
}) {
  const most = Math.max(...props.values.map(([, value]) => value), 1)
  return (
    <ul class="bars" aria-label={props.label}>
      {props.values.map(([name, value]) => (
        <li key={name}>
          <span class="bar-name">{name}</span>
          <span class="bar-value">{props.show(value)}</span>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${(value / most) * 100}%` }} />
          </span>
        </li>
      ))}
    </ul>
  )
}
