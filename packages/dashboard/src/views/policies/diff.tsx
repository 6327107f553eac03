import { inline, words } from '../../format.js'
import type { Difference } from './fields.js'

/** What a change changes. */
export function Diff({ of, label }: { of: readonly Difference[]; label: string }) {
  return (
    <ul class="diff" aria-label={label}>
      {of.map(({ name, before, after }) => (
        <li key={name}>
          <span class="diff-name">{words(name)}</span>
          <del>{inline(before)}</del>
          <span aria-hidden="true">→</span>
          <ins>{inline(after)}</ins>
        </li>
      ))}
    </ul>
  )
}
