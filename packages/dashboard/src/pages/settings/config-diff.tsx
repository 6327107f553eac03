import { getJson } from '../../api/client.js'
import type { WireConfigDifference } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { QueryView } from '../../components/basics.js'
import { formatDuration, formatInline } from '../../format.js'
import { DURATIONS } from '../policies/fields.js'

/** Whether the last parts of a path are the name of a duration, for example in `policies.fetch.base_delay`. */
const isDuration = (path: string): boolean => {
  const parts = path.split('.')
  return DURATIONS.has(parts.slice(-1).join('.')) || DURATIONS.has(parts.slice(-2).join('.'))
}

function formatSide(difference: WireConfigDifference, side: 'before' | 'after'): string {
  if (!(side in difference)) return 'file value'
  const value = difference[side]
  if (value === null) return 'removed'
  return typeof value === 'number' && isDuration(difference.path)
    ? formatDuration(value)
    : formatInline(value)
}

/** The differences between two versions of the live changes; `from` is the newest version by default. */
export function ConfigDiff({ to, from, label }: { to: number; from?: number; label: string }) {
  const loaded = useQuery(`${from} ${to}`, (signal) =>
    getJson<{ items: WireConfigDifference[] }>(
      '/config/diff',
      { to: String(to), ...(from !== undefined && { from: String(from) }) },
      signal,
    ),
  )
  return (
    <QueryView of={loaded}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="hint">No values change.</p>
        ) : (
          <ul class="diff" aria-label={label}>
            {items.map((difference) => (
              <li key={difference.path}>
                <code class="diff-name">{difference.path}</code>
                <del>{formatSide(difference, 'before')}</del>
                <span aria-hidden="true">→</span>
                <ins>{formatSide(difference, 'after')}</ins>
              </li>
            ))}
          </ul>
        )
      }
    </QueryView>
  )
}
