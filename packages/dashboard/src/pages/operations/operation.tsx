import { getJson } from '../../api/client.js'
import type { WireErrorGroups, WireExplanation, WirePage, WireSession } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import {
  EmptyState,
  Id,
  numericHead,
  PageHead,
  Panel,
  QueryView,
  Table,
  Time,
} from '../../components/basics.js'
import { Trend } from '../../components/trend.js'
import { formatCount, formatDuration, formatName, formatPercent } from '../../format.js'
import { urlFor } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { loadBreakerStates, OperationBreakers } from './breaker-states.js'
import { Tile } from './tile.js'
import { TrafficPanel } from './traffic-panel.js'
import { useTraffic } from './use-traffic.js'

const REFRESH_MS = 10_000
const MAX_SESSIONS_SHOWN = 10

/** How many error groups are shown, the largest first. */
const MAX_GROUPS = '20'

/** The page of one operation: its calls, why they fail, and what it depends on. */
export function OperationPage({ operation }: { operation: string }) {
  const traffic = useTraffic(operation)
  const total = traffic.data?.metrics.total
  const breakers = traffic.data?.metrics.operations[0]?.breakers ?? []
  return (
    <>
      <PageHead title={operation}>
        <a href="/operations">All operations</a>
      </PageHead>
      {total !== undefined && (
        <ul class="tiles">
          <Tile name="Calls" value={formatCount(total.calls)} note="in this time range" />
          <Tile
            name="Success rate"
            value={total.calls === 0 ? '–' : formatPercent(total.successes / total.calls)}
            note={`${formatCount(total.successes)} calls succeeded`}
          />
          <Tile
            name="Failed calls"
            href={urlFor('/sessions', { operation, success: 'false' })}
            value={formatCount(total.failures)}
            note={`${formatCount(total.rejections)} of them rejected without an attempt`}
            tone={total.failures > 0 ? 'bad' : ''}
          />
          <Tile
            name="Retries"
            href={urlFor('/sessions', { operation })}
            value={formatCount(total.retries)}
            note="attempts after the first"
          />
          <Tile
            name="Latency p95"
            value={total.calls > total.rejections ? formatDuration(total.latency.p95) : '–'}
            note={`p50 ${formatDuration(total.latency.p50)}, p99 ${formatDuration(total.latency.p99)}`}
          />
        </ul>
      )}
      <div class="panels">
        <ErrorKinds operation={operation} />
        <Dependencies operation={operation} breakers={breakers} />
        <TrafficPanel of={traffic} title="Calls over time" />
        <FailedSessions operation={operation} />
      </div>
    </>
  )
}

/** The errors of an operation, grouped by kind and message. */
function ErrorKinds({ operation }: { operation: string }) {
  const query = { operation, ...rangeFilter.value, limit: MAX_GROUPS }
  const loaded = useQuery(
    `error groups ${JSON.stringify(query)}`,
    (signal) => getJson<WireErrorGroups>('/errors/groups', query, signal),
    REFRESH_MS,
  )
  return (
    <Panel
      title="Errors by kind"
      class="wide"
      actions={<a href={urlFor('/errors', { operation })}>All errors</a>}
    >
      <QueryView of={loaded}>
        {({ items, complete, scanned }) =>
          items.length === 0 ? (
            <EmptyState title="No errors in this time range" />
          ) : (
            <>
              <Table
                label="Errors by kind"
                head={['Kind', 'Message', numericHead('Errors'), 'Trend', 'First seen', 'Last seen', 'Last']}
              >
                {items.map((group) => (
                  <tr key={group.group_id}>
                    <th scope="row">{formatName(group.kind)}</th>
                    <td class="long">
                      <a href={urlFor('/errors', { group: group.group_id })}>{group.message}</a>
                    </td>
                    <td class="number">{formatCount(group.count)}</td>
                    <td>
                      <Trend counts={group.trend} />
                    </td>
                    <td>
                      <Time at={group.first_seen} />
                    </td>
                    <td>
                      <Time at={group.last_seen} />
                    </td>
                    <td>
                      {group.session_id !== undefined && (
                        <a href={urlFor('/sessions', { id: group.session_id })}>Session</a>
                      )}
                    </td>
                  </tr>
                ))}
              </Table>
              <p class="hint">
                Errors are failed attempts and rejected calls.
                {!complete && ` Only the newest ${formatCount(scanned)} errors are counted.`}
              </p>
            </>
          )
        }
      </QueryView>
    </Panel>
  )
}

/** The policies and breakers of an operation. */
function Dependencies({ operation, breakers }: { operation: string; breakers: readonly string[] }) {
  const loaded = useQuery(
    `dependencies ${operation}`,
    async (signal) => ({
      explanation: await getJson<WireExplanation>('/config/explain', { operation }, signal),
      states: await loadBreakerStates(signal),
    }),
    REFRESH_MS,
  )
  return (
    <Panel title="Policies and breakers" class="wide">
      <QueryView of={loaded}>
        {({ explanation: { policies }, states }) => {
          const configured = policies.flatMap(({ breaker }) => (breaker == null ? [] : [breaker]))
          return (
            <dl class="facts">
              <dt>Policies</dt>
              <dd>
                <ul class="breaker-links">
                  {policies.map(({ kind, policy_id }) => (
                    <li key={kind}>
                      <a href={urlFor('/policies', { id: policy_id })}>{policy_id}</a>{' '}
                      <span class="hint">
                        {policies.length === 1
                          ? 'all failures'
                          : kind === 'default'
                            ? 'all other failures'
                            : `failures of the kind ${formatName(kind)}`}
                      </span>
                    </li>
                  ))}
                </ul>
              </dd>
              <dt>Breakers</dt>
              <dd>
                <OperationBreakers breakers={[...new Set([...breakers, ...configured])]} states={states} />
              </dd>
              <dt>Configuration</dt>
              <dd>
                <a href={urlFor('/settings', { operation })}>Effective configuration</a>
              </dd>
            </dl>
          )
        }}
      </QueryView>
    </Panel>
  )
}

/** The newest failed calls of an operation. */
function FailedSessions({ operation }: { operation: string }) {
  const filter = rangeFilter.value
  const loaded = useQuery(
    `failed ${operation} ${JSON.stringify(filter)}`,
    (signal) =>
      getJson<WirePage<WireSession>>(
        '/sessions',
        { operation, success: 'false', ...filter, limit: String(MAX_SESSIONS_SHOWN) },
        signal,
      ),
    REFRESH_MS,
  )
  return (
    <Panel
      title="Recent failed sessions"
      class="wide"
      actions={<a href={urlFor('/sessions', { operation, success: 'false' })}>All failed sessions</a>}
    >
      <QueryView of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No failed sessions in this time range" />
          ) : (
            <Table
              label="Recent failed sessions"
              head={['Session', 'Started', numericHead('Attempts'), 'Result', 'Error']}
            >
              {items.map((session) => (
                <tr key={session.session_id}>
                  <th scope="row">
                    <Id
                      value={session.session_id}
                      label="session ID"
                      href={urlFor('/sessions', { id: session.session_id })}
                    />
                  </th>
                  <td>
                    <Time at={session.start_time} />
                  </td>
                  <td class="number">{formatCount(attemptsOf(session))}</td>
                  <td>{formatName(session.stopped ?? '–')}</td>
                  <td class="long">{session.final_error?.message ?? '–'}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </QueryView>
    </Panel>
  )
}

/** The number of attempts that ran: a call that an open breaker rejected has an entry but made no attempt. */
const attemptsOf = ({ attempts }: WireSession): number =>
  attempts.filter(({ outcome }) => outcome !== 'circuit_open').length
