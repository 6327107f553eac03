import { getJson } from '../../api/client.js'
import type { WireAudit, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { Panel, QueryView, Time } from '../../components/basics.js'
import { PolicyDiff } from './diff.js'
import { diffRecords } from './draft.js'

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The changes of a policy with their actors, times and reasons. */
export function PolicyHistory({ id, version }: { id: string; version: number }) {
  const loaded = useQuery(`${id} ${version}`, (signal) =>
    getJson<WirePage<WireAudit>>('/audit', { target: id, action: 'policy.put', limit: '20' }, signal),
  )
  return (
    <Panel title="History" class="wide">
      <QueryView of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="hint">
              Not changed through the dashboard or the API: the values are those of the file.
            </p>
          ) : (
            <ol class="history">
              {items.map((record) => (
                <li key={record.audit_id}>
                  <p>
                    <strong>{record.actor}</strong> <Time at={record.timestamp} />
                    {record.reason != null && `: ${record.reason}`}
                  </p>
                  <PolicyDiff
                    label="Changed fields"
                    of={diffRecords(asRecord(record.before), asRecord(record.after))}
                  />
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
