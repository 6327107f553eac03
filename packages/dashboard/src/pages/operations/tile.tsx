import type { ComponentChildren } from 'preact'

/** A number with its name and a note. The number links to its details. */
export function Tile(props: {
  name: string
  value: string
  note: ComponentChildren
  href?: string
  tone?: string
}) {
  const { name, value, note, href, tone = '' } = props
  return (
    <li class={`tile ${tone}`}>
      <span class="tile-name">{href === undefined ? name : <a href={href}>{name}</a>}</span>
      <span class="tile-value">{value}</span>
      <span class="tile-note">{note}</span>
    </li>
  )
}
