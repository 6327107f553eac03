import type { Audit as AuditRecord } from '../../api/types.js'
import { Empty, Head, Json, None, Table, Time } from '../../parts/basics.js'
import { Choice, Filters, Text } from '../../parts/filters.js'
import { List, useList } from '../../parts/list.js'
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

/** Who did what, when and why. */
export function Audit() {
  const { actor, action, target } = route.value.query
  const list = useList<AuditRecord>('/audit', { actor, action, target }, 5000)
  return (
    <>
      <Head title="Audit" />
      <Filters label="Choose audit records">
        <Text name="actor" label="Who" />
        <Choice name="action" label="Action" options={ACTIONS} />
        <Text name="target" label="Target" />
      </Filters>
      <List
        of={list}
        empty={
          <Empty title="Nothing here">
            Every change through this page, the API and the command is written down here.
          </Empty>
        }
      >
        {(records) => (
          <Table
            label="Audit records"
            head={['When', 'Who', 'Action', 'Target', 'Reason', 'Before and after']}
          >
            {records.map((record) => (
              <tr key={record.audit_id}>
                <td>
                  <Time at={record.timestamp} />
                </td>
                <td>{record.actor}</td>
                <td>{record.action}</td>
                <td class="long">{record.target}</td>
                <td>{record.reason ?? <None />}</td>
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
      </List>
    </>
  )
}
