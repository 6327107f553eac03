import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import type { Audit, Page } from '../../api/types.js'
import { Panel, Show, Time } from '../../parts/basics.js'
import { Diff } from './diff.js'
import { differences } from './draft.js'

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** Who changed a policy, when, why and how. */
export function History({ id, version }: { id: string; version: number }) {
  const loaded = useLoad(`${id} ${version}`, (signal) =>
    get<Page<Audit>>('/audit', { target: id, action: 'policy.put', limit: '20' }, signal),
  )
  return (
    <Panel title="History" class="wide">
      <Show of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="hint">Not changed through this page or the API yet: it is as the file says.</p>
          ) : (
            <ol class="history">
              {items.map((record) => (
                <li key={record.audit_id}>
                  <p>
                    <strong>{record.actor}</strong> <Time at={record.timestamp} />
                    {record.reason != null && `: ${record.reason}`}
                  </p>
                  <Diff
                    label="What changed"
                    of={differences(recordOf(record.before), recordOf(record.after))}
                  />
                </li>
              ))}
            </ol>
          )
        }
      </Show>
    </Panel>
  )
}
