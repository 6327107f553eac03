import { getJson } from '../../api/client.js'
import type { WireAudit, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { Time } from '../../components/basics.js'
import { PolicyDiff } from './diff.js'
import type { FieldDifference } from './draft.js'
import { labelOf } from './fields.js'

/** Tells that another user saved the policy, with the changes and the choice to merge them or to discard one's own. */
export function ConflictBanner(props: {
  id: string
  etag: string | undefined
  changes: readonly FieldDifference[]
  conflicts: readonly string[]
  onMerge: () => void
  onDiscard: () => void
}) {
  const { id, etag, changes, conflicts, onMerge, onDiscard } = props
  const audit = useQuery(`${id} ${etag}`, (signal) =>
    getJson<WirePage<WireAudit>>('/audit', { target: id, action: 'policy.put', limit: '1' }, signal),
  )
  const record = audit.data?.items[0]
  return (
    <section class="conflict" role="alert" aria-label="Changed by another user">
      <p>
        {record === undefined ? (
          'This policy was changed in the meantime.'
        ) : (
          <>
            <strong>{record.actor}</strong> changed this policy <Time at={record.timestamp} />
            {record.reason != null && `: ${record.reason}`}.
          </>
        )}{' '}
        Your changes are not saved yet.
      </p>
      <PolicyDiff of={changes} label="Changes of the other user" />
      {conflicts.length > 0 && (
        <p>
          You both changed {conflicts.map(labelOf).join(', ')}. The merge keeps your values; check them before
          you save.
        </p>
      )}
      <div class="actions">
        <button type="button" class="small" onClick={onMerge}>
          Merge with my changes
        </button>
        <button type="button" class="small secondary" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
    </section>
  )
}
