import { duration, inline } from '../../format.js'
import { type Difference, said } from './draft.js'
import { DURATIONS } from './fields.js'

const say = (name: string, value: unknown): string =>
  DURATIONS.has(name) && typeof value === 'number' ? duration(value) : inline(value)

/** What a change changes. */
export function Diff({ of, label }: { of: readonly Difference[]; label: string }) {
  return (
    <ul class="diff" aria-label={label}>
      {of.map(({ name, before, after }) => (
        <li key={name}>
          <span class="diff-name">{said(name)}</span>
          <del>{say(name, before)}</del>
          <span aria-hidden="true">→</span>
          <ins>{say(name, after)}</ins>
        </li>
      ))}
    </ul>
  )
}
