import type { WireAudit as AuditRecord } from '../../api/types.js'
import { EmptyState, Json, NoValue, PageHead, Table, Time } from '../../components/basics.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { route } from '../../route.js'

const ACTIONS = [
  ['', 'any'],
  ...[
    'policy.put',
    'policy.delete',
    'config.reload',
    'config.reject',
    'config.rollback',
    'config.clear',
    'breaker.reset',
    'breaker.trip',
    'dead_letter.replay',
    'dead_letter.purge',
    'dead_letter.complete',
    'session.cancel',
    'session.read',
    'metrics.read',
    'member.add',
    'member.remove',
    'member.change',
    'token.create',
    'token.revoke',
  ].map((action) => [action, action] as const),
] as const

/** The page of the audit trail. */
export function Audit() {
  const { actor, action, target } = route.value.query
  const list = useList<AuditRecord>('/audit', { actor, action, target }, 5000)
  return (
    <>
      <PageHead title="Audit" />
      <Filters label="Filter audit records">
        <TextFilter name="actor" label="Actor" />
        <ChoiceFilter name="action" label="Action" options={ACTIONS} />
        <TextFilter name="target" label="Target" />
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title="No audit records">
            Every change through the dashboard, the API and the command line is recorded here.
          </EmptyState>
        }
      >
        {(records) => (
          <Table
            label="Audit records"
            head={['Time', 'Actor', 'Action', 'Target', 'Reason', 'Before and after']}
          >
            {records.map((record) => (
              <tr key={record.audit_id}>
                <td>
                  <Time at={record.timestamp} />
                </td>
                <td>{record.actor}</td>
                <td>{record.action}</td>
                <td class="long">{record.target}</td>
                <td>{record.reason ?? <NoValue />}</td>
                <td>
                  {(record.before ?? record.after) !== undefined && (
                    <details>
                      <summary>Show</summary>
                      <Json value={{ before: record.before, after: record.after }} label="Before and after" />
                    </details>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </ListView>
    </>
  )
}
