import type { WireAudit } from '../../api/types.js'
import { Id, Json, NoValue, Table, Time } from '../../components/basics.js'
import { urlFor } from '../../route.js'
import { PolicyDiff } from '../policies/diff.js'
import { diffRecords } from '../policies/draft.js'

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The page of the target of an audit record; undefined where the target has no page. */
function urlOfTarget({ action, target }: WireAudit): string | undefined {
  const [subject] = action.split('.')
  if (subject === 'policy') return urlFor('/policies', { id: target })
  if (subject === 'config') return '/settings'
  if (subject === 'breaker') return urlFor('/breakers', { q: target })
  if (subject === 'dead_letter' && !action.endsWith('purge')) return urlFor('/dead-letters', { id: target })
  if (subject === 'session' && action !== 'session.read') return urlFor('/sessions', { id: target })
  return undefined
}

/** The changes of a record: its differences, or what it contains where it has only one side. */
function AuditChanges({ record }: { record: WireAudit }) {
  const { before, after } = record
  if ((before ?? after) == null) return <NoValue />
  const changes = diffRecords(asRecord(before), asRecord(after))
  if (before != null && after != null && changes.length > 0)
    return <PolicyDiff of={changes} label={`Changes of ${record.target}`} />
  return (
    <details>
      <summary>Show</summary>
      <Json value={{ before, after }} label="Before and after" />
    </details>
  )
}

/** Audit records with their differences and links to their targets. */
export function AuditTable({ records }: { records: readonly WireAudit[] }) {
  return (
    <Table label="Audit records" head={['Time', 'Actor', 'Action', 'Target', 'Reason', 'Changes']}>
      {records.map((record) => (
        <tr key={record.audit_id}>
          <td>
            <Time at={record.timestamp} />
          </td>
          <td>
            <a href={urlFor('/audit', { actor: record.actor })}>{record.actor}</a>
          </td>
          <td>{record.action}</td>
          <td>
            <Id value={record.target} label="target" href={urlOfTarget(record)} />
          </td>
          <td class="long">{record.reason ?? <NoValue />}</td>
          <td class="long">
            <AuditChanges record={record} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
