import { formatDuration, formatInline } from '../../format.js'
import type { FieldDifference } from './draft.js'
import { DURATIONS } from './fields.js'

const formatField = (name: string, value: unknown): string =>
  DURATIONS.has(name) && typeof value === 'number' ? formatDuration(value) : formatInline(value)

/** The differences of a change. */
export function PolicyDiff({ of, label }: { of: readonly FieldDifference[]; label: string }) {
  return (
    <ul class="diff" aria-label={label}>
      {of.map(({ name, before, after }) => (
        <li key={name}>
          <code class="diff-name">{name}</code>
          <del>{formatField(name, before)}</del>
          <span aria-hidden="true">→</span>
          <ins>{formatField(name, after)}</ins>
        </li>
      ))}
    </ul>
  )
}
