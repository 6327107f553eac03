import type { ComponentChildren } from 'preact'
import { getJson } from '../../api/client.js'
import type { WireAudit, WireErrorGroupDetails, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { CopyButton, Id, PageHead, Panel, QueryView, Time } from '../../components/basics.js'
import { Trend } from '../../components/trend.js'
import { formatCount, formatName } from '../../format.js'
import { urlFor } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { AuditTable } from './audit-table.js'
import { ErrorTable } from './error-table.js'

/** How long before the first error of a group changes of the configuration are shown. */
const CHANGES_BEFORE_MS = 24 * 3_600_000

/** The actions that change how calls are made. */
const CHANGE_ACTIONS = [
  'policy.put',
  'policy.delete',
  'config.reload',
  'config.rollback',
  'config.clear',
] as const

/** How many changes of each action are loaded. */
const MAX_CHANGES = '10'

async function loadChanges(from: string, to: string, signal: AbortSignal): Promise<WireAudit[]> {
  const range = { from: new Date(Date.parse(from) - CHANGES_BEFORE_MS).toISOString(), to }
  const pages = await Promise.all(
    CHANGE_ACTIONS.map((action) =>
      getJson<WirePage<WireAudit>>('/audit', { action, ...range, limit: MAX_CHANGES }, signal),
    ),
  )
  return pages
    .flatMap(({ items }) => items)
    .toSorted((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp))
}

/** The changes of policies and of the configuration in the day before the first error and until the last one. */
function ChangesBefore({ group }: { group: WireErrorGroupDetails }) {
  const { first_seen, last_seen } = group
  const loaded = useQuery(`changes ${first_seen} ${last_seen}`, (signal) =>
    loadChanges(first_seen, last_seen, signal),
  )
  return (
    <Panel title="Configuration changes before and during these errors" class="wide">
      <QueryView of={loaded}>
        {(records) =>
          records.length === 0 ? (
            <p class="hint">
              No policy and no configuration was changed in the 24 hours before the first error or since then.
            </p>
          ) : (
            <AuditTable records={records} />
          )
        }
      </QueryView>
    </Panel>
  )
}

/** The page of one group of errors: its numbers, the changes before it, and its newest records. */
export function ErrorGroupPage({ id }: { id: string }) {
  const filter = rangeFilter.value
  const loaded = useQuery(`group ${id} ${JSON.stringify(filter)}`, (signal) =>
    getJson<WireErrorGroupDetails>(`/errors/groups/${encodeURIComponent(id)}`, filter, signal),
  )
  return (
    <>
      <p>
        <a href="/errors">← All errors</a>
      </p>
      <QueryView of={loaded}>
        {(group) => (
          <>
            <PageHead title={`${formatName(group.kind)}: ${group.message}`}>
              <CopyButton text={`${group.error_type}: ${group.message}`} label="error">
                Copy error
              </CopyButton>
            </PageHead>
            <dl class="facts" aria-label="Error group">
              <Fact name="Errors">{formatCount(group.count)}</Fact>
              <Fact name="Trend">
                <Trend counts={group.trend} />
              </Fact>
              <Fact name="Kind">
                <a href={urlFor('/errors', { kind: group.kind })}>{formatName(group.kind)}</a>
              </Fact>
              <Fact name="Operation">
                <a href={urlFor('/operations', { id: group.operation })}>{group.operation}</a>
              </Fact>
              {group.http_status !== undefined && <Fact name="HTTP status">{group.http_status}</Fact>}
              <Fact name="First seen">
                <Time at={group.first_seen} />
              </Fact>
              <Fact name="Last seen">
                <Time at={group.last_seen} />
              </Fact>
              {group.session_id !== undefined && (
                <Fact name="Last session">
                  <Id
                    value={group.session_id}
                    label="session ID"
                    href={urlFor('/sessions', { id: group.session_id })}
                  />
                </Fact>
              )}
              <Fact name="Sessions">
                <a href={urlFor('/sessions', { operation: group.operation, success: 'false' })}>
                  Failed sessions of {group.operation}
                </a>
              </Fact>
            </dl>
            <div class="panels">
              <ChangesBefore group={group} />
              <Panel title="Newest errors of this group" class="wide">
                <ErrorTable errors={group.records} />
              </Panel>
            </div>
          </>
        )}
      </QueryView>
    </>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
