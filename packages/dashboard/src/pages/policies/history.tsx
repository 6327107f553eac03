import { getJson } from '../../api/client.js'
import type { WireAudit, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { Panel, QueryView, Time } from '../../components/basics.js'
import { urlFor } from '../../route.js'
import { PolicyDiff } from './diff.js'
import { diffRecords, type FieldDifference } from './draft.js'

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** Changes of a policy itself, and changes of all live changes, which may contain the policy. */
const ACTIONS = ['policy.put', 'policy.delete', 'config.rollback', 'config.clear'] as const

const ACTION_NAMES: Readonly<Record<string, string>> = {
  'policy.delete': 'deleted the policy',
  'config.rollback': 'rolled back to',
  'config.clear': 'discarded all live changes',
}

/** How many changes of each kind are loaded. */
const HISTORY_LIMIT = '20'

interface PolicyChange {
  readonly record: WireAudit
  readonly changes: readonly FieldDifference[]
}

/** The live changes of a policy in a record that contains all live changes. */
const changesOf = (layer: unknown, id: string): Record<string, unknown> =>
  asRecord(asRecord(asRecord(layer)['policies'])[id])

function toPolicyChange(record: WireAudit, id: string): PolicyChange {
  const { before, after, action } = record
  const isWhole = action === 'policy.put' || action === 'policy.delete'
  const sides = [before, after].map((side) => (isWhole ? asRecord(side) : changesOf(side, id)))
  return { record, changes: action === 'policy.delete' ? [] : diffRecords(sides[0] ?? {}, sides[1] ?? {}) }
}

async function loadHistory(id: string, signal: AbortSignal): Promise<PolicyChange[]> {
  const pages = await Promise.all(
    ACTIONS.map((action) =>
      getJson<WirePage<WireAudit>>(
        '/audit',
        { action, limit: HISTORY_LIMIT, ...(action.startsWith('policy') && { target: id }) },
        signal,
      ),
    ),
  )
  return pages
    .flatMap(({ items }) => items)
    .map((record) => toPolicyChange(record, id))
    .filter(({ record, changes }) => changes.length > 0 || record.action === 'policy.delete')
    .toSorted((a, b) => Date.parse(b.record.timestamp) - Date.parse(a.record.timestamp))
}

/** The changes of a policy with their actors, times, reasons and differences. */
export function PolicyHistory({ id, version }: { id: string; version: number }) {
  const loaded = useQuery(`${id} ${version}`, (signal) => loadHistory(id, signal))
  return (
    <Panel
      title="History"
      class="wide"
      actions={<a href={urlFor('/audit', { target: id })}>All audit records of {id}</a>}
    >
      <QueryView of={loaded}>
        {(history) =>
          history.length === 0 ? (
            <p class="hint">No live changes: the values are those of the file.</p>
          ) : (
            <ol class="history">
              {history.map(({ record, changes }) => (
                <li key={record.audit_id}>
                  <p>
                    <strong>{record.actor}</strong> {ACTION_NAMES[record.action]}{' '}
                    {record.action === 'config.rollback' && record.target} <Time at={record.timestamp} />
                    {record.reason != null && `: ${record.reason}`}
                  </p>
                  {changes.length > 0 && <PolicyDiff label="Changed fields" of={changes} />}
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
