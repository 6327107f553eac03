import { HOUR_MS, MINUTE_MS } from '@holdfast/records/constants'
import { getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireAudit, WireBreaker, WireBreakerChange, WireFleet, WireOperations } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import { ActionButton } from '../../components/action-button.js'
import {
  CopyButton,
  EmptyState,
  Id,
  numericHead,
  PageHead,
  Panel,
  QueryView,
  StateLabel,
  Table,
  Time,
} from '../../components/basics.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount, formatDuration, formatName, formatPlural } from '../../format.js'
import { now } from '../../now.js'
import { urlFor } from '../../route.js'
import { timeRange } from '../../time-range.js'
import { lastDay, selectedSpan } from '../operations/series.js'
import type { TimeSpan } from '../operations/steps.js'
import { confirmReset, confirmTrip, isOpenUntilReset } from './actions.js'
import { NextProbe } from './next-probe.js'
import {
  type AffectedOperation,
  affectedOperations,
  loadOpeningErrors,
  loadTrip,
  type OpeningError,
} from './opening.js'

const REFRESH_MS = 5000
const MAX_HOURS = 168
const MAX_TRANSITIONS = '50'

interface LoadedBreaker {
  readonly breaker: WireBreaker
  readonly span: TimeSpan
  readonly changes: readonly WireBreakerChange[]
  readonly hasMoreChanges: boolean
  readonly operations: readonly AffectedOperation[]
  readonly errors: readonly OpeningError[]
  readonly trip: WireAudit | undefined
  readonly fleet: WireFleet
}

async function loadBreaker(id: string, signal: AbortSignal): Promise<LoadedBreaker> {
  const now = clock.wall()
  const span = selectedSpan(timeRange.peek(), now) ?? lastDay(now)
  const hours = Math.min(MAX_HOURS, Math.max(1, Math.ceil((now - span.from) / HOUR_MS)))
  // One point for the whole range, because only totals are shown.
  const step = Math.ceil((span.to - span.from) / MINUTE_MS) * 60
  const [breaker, changes, metrics, fleet] = await Promise.all([
    getJson<WireBreaker>(`/circuit-breakers/${encodeURIComponent(id)}`, {}, signal),
    getJson<{ events: WireBreakerChange[]; cursor?: string }>(
      '/circuit-breakers/metrics',
      { id, hours: String(hours), limit: MAX_TRANSITIONS },
      signal,
    ),
    getJson<WireOperations>(
      '/metrics/operations',
      {
        from: new Date(span.from).toISOString(),
        to: new Date(span.to).toISOString(),
        step: String(step),
      },
      signal,
    ),
    getJson<WireFleet>('/nodes', {}, signal),
  ])
  const operations = affectedOperations(id, metrics)
  const [errors, trip] = await Promise.all([
    loadOpeningErrors(breaker, operations, signal),
    loadTrip(breaker, signal),
  ])
  return {
    breaker,
    span,
    changes: changes.events,
    hasMoreChanges: changes.cursor !== undefined,
    operations,
    errors,
    trip,
    fleet,
  }
}

/** The page of one breaker: why it opened, what depends on it, its settings and its transitions. */
export function BreakerPage({ id }: { id: string }) {
  const loaded = useQuery(
    `breaker ${id} ${JSON.stringify(timeRange.value)}`,
    (signal) => loadBreaker(id, signal),
    REFRESH_MS,
  )
  useEvents((events) => {
    if (events.some(({ context }) => context?.['id'] === id)) loaded.reload()
  })
  const breaker = loaded.data?.breaker
  return (
    <>
      <PageHead title={id}>
        <CopyButton text={id} label="breaker ID" />
        {breaker !== undefined && hasRole('operator') && (
          <>
            <ActionButton class="small secondary" onClick={() => confirmReset(breaker, loaded.reload)}>
              Reset
            </ActionButton>
            <ActionButton class="small secondary" onClick={() => confirmTrip(breaker, loaded.reload)}>
              Trip
            </ActionButton>
          </>
        )}
        <a href="/breakers">All breakers</a>
      </PageHead>
      <QueryView of={loaded}>
        {(data) => (
          <div class="panels">
            <Facts {...data} />
            <Settings breaker={data.breaker} />
            {data.breaker.state !== 'closed' && <Opening {...data} />}
            <Operations operations={data.operations} breaker={data.breaker} />
            <Transitions changes={data.changes} hasMore={data.hasMoreChanges} />
            <NodeStates id={id} fleet={data.fleet} />
          </div>
        )}
      </QueryView>
    </>
  )
}

/** Whether the next probe has a time that is not over. */
const isProbeLater = (breaker: WireBreaker): boolean =>
  breaker.next_test_time != null &&
  !isOpenUntilReset(breaker) &&
  Date.parse(breaker.next_test_time) > now.value

function Facts({ breaker, changes, hasMoreChanges, span, trip }: LoadedBreaker) {
  const { state, open_timestamp, last_state_change, failure_count } = breaker
  const opened = changes.filter(({ to_state }) => to_state === 'open').length
  return (
    <Panel title="State">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateLabel of={state} />
        </dd>
        {state !== 'closed' && open_timestamp != null && (
          <>
            <dt>Opened</dt>
            <dd>
              <Time at={open_timestamp} />
            </dd>
            <dt>Opened by</dt>
            <dd>
              {trip === undefined ? (
                formatPlural(failure_count, 'failure', 'failures')
              ) : (
                <a href={urlFor('/audit', { target: breaker.id })}>{trip.actor}, tripped</a>
              )}
            </dd>
          </>
        )}
        {state === 'open' && (
          <>
            <dt>Next probe</dt>
            <dd>
              {isProbeLater(breaker) ? (
                <Time at={breaker.next_test_time ?? ''} />
              ) : (
                <NextProbe breaker={breaker} />
              )}
            </dd>
          </>
        )}
        {state === 'closed' && (
          <>
            <dt>Failures in the window</dt>
            <dd>{formatCount(failure_count)}</dd>
          </>
        )}
        <dt>Last change</dt>
        <dd>
          <Time at={last_state_change} />
        </dd>
        <dt>Times opened</dt>
        <dd>
          {formatCount(opened)}
          {hasMoreChanges && '+'}{' '}
          <span class="hint">in {formatDuration(Math.round((span.to - span.from) / 1000))}</span>
        </dd>
      </dl>
    </Panel>
  )
}

function Settings({ breaker }: { breaker: WireBreaker }) {
  const { policy_id, service_name, window_type, window_duration } = breaker
  return (
    <Panel title="Settings">
      <dl class="facts">
        <dt>Failure threshold</dt>
        <dd>
          {window_type === 'rate'
            ? 'by failure rate'
            : `${formatCount(breaker.failure_threshold)} ${window_type === 'consecutive' ? 'consecutive failures' : 'failures'}`}
        </dd>
        <dt>Window</dt>
        <dd>
          {formatName(window_type)}
          {window_duration != null && `, ${formatDuration(window_duration)}`}
        </dd>
        <dt>Open duration</dt>
        <dd>{formatDuration(breaker.timeout_duration)}</dd>
        <dt>Success threshold</dt>
        <dd>{formatPlural(breaker.success_threshold, 'successful probe', 'successful probes')}</dd>
        {policy_id != null && (
          <>
            <dt>Dedicated breaker of</dt>
            <dd>
              <a href={urlFor('/policies', { id: policy_id })}>{policy_id}</a>
            </dd>
          </>
        )}
        {service_name != null && (
          <>
            <dt>Shared breaker</dt>
            <dd>
              <code>circuit_breakers.{service_name}</code>
            </dd>
          </>
        )}
      </dl>
    </Panel>
  )
}

function Opening({ breaker, errors, trip }: LoadedBreaker) {
  return (
    <Panel title="Why it opened" class="wide">
      {trip !== undefined ? (
        <p>
          <strong>{trip.actor}</strong> tripped it <Time at={trip.timestamp} />
          {trip.reason != null && <>: {trip.reason}</>}
          {breaker.trip_duration != null && (
            <>
              {isOpenUntilReset(breaker)
                ? ' It stays open until it is reset.'
                : ` It stays open for ${formatDuration(breaker.trip_duration)}.`}
            </>
          )}
        </p>
      ) : (
        <p>
          It opened after {formatPlural(breaker.failure_count, 'failure', 'failures')}. The last errors of the
          affected operations before that:
        </p>
      )}
      {errors.length === 0 ? (
        trip === undefined && <EmptyState title="No sessions of this time are stored" />
      ) : (
        <Table
          label="Last errors before it opened"
          head={['Time', 'Operation', 'Error', 'Status', 'Session']}
        >
          {errors.map((error) => (
            <tr key={`${error.sessionId} ${error.at}`}>
              <td>
                <Time at={error.at} />
              </td>
              <td>
                <a href={urlFor('/operations', { id: error.operation })}>{error.operation}</a>
              </td>
              <td class="long">
                {error.type}: {error.message}
              </td>
              <td>{error.status ?? '–'}</td>
              <td>
                <Id
                  value={error.sessionId}
                  label="session ID"
                  href={urlFor('/sessions', { id: error.sessionId })}
                  length={20}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

function Operations({
  operations,
  breaker,
}: {
  operations: readonly AffectedOperation[]
  breaker: WireBreaker
}) {
  return (
    <Panel title="Affected operations" class="wide">
      {operations.length === 0 ? (
        <EmptyState title="No calls passed this breaker in this time range" />
      ) : (
        <Table
          label="Affected operations"
          head={['Operation', numericHead('Calls'), numericHead('Failed'), numericHead('Rejected')]}
        >
          {operations.map(({ operation, calls, failures, rejections }) => (
            <tr key={operation}>
              <th scope="row">
                <a href={urlFor('/operations', { id: operation })}>{operation}</a>
              </th>
              <td class="number">{formatCount(calls)}</td>
              <td class="number">
                <a href={urlFor('/sessions', { operation, success: 'false' })}>{formatCount(failures)}</a>
              </td>
              <td class="number">{formatCount(rejections)}</td>
            </tr>
          ))}
        </Table>
      )}
      {breaker.proxy_id != null && operations.length > 0 && (
        <p class="hint">Operations that use the pool of this member, with all their calls.</p>
      )}
    </Panel>
  )
}

function Transitions({ changes, hasMore }: { changes: readonly WireBreakerChange[]; hasMore: boolean }) {
  return (
    <Panel title="Transitions" class="wide">
      {changes.length === 0 ? (
        <EmptyState title="No transitions in this time range" />
      ) : (
        <>
          <Table label="Transitions" head={['Time', 'From', 'To', numericHead('Failures')]}>
            {changes.map(({ timestamp, from_state, to_state, failure_count }) => (
              <tr key={`${timestamp} ${to_state}`}>
                <td>
                  <Time at={timestamp} />
                </td>
                <td>
                  <StateLabel of={from_state} />
                </td>
                <td>
                  <StateLabel of={to_state} />
                </td>
                <td class="number">{formatCount(failure_count)}</td>
              </tr>
            ))}
          </Table>
          {hasMore && <p class="hint">The newest {MAX_TRANSITIONS}.</p>}
        </>
      )}
    </Panel>
  )
}

function NodeStates({ id, fleet }: { id: string; fleet: WireFleet }) {
  return (
    <Panel title="Breaker state by node" class="wide">
      <Table label="Breaker state by node" head={['Node', 'State', 'Heartbeat']}>
        {fleet.items.map((node) => (
          <tr key={node.id}>
            <th scope="row">
              <a href="/nodes">{node.id}</a>
              {node.self && <span class="hint"> this node</span>}
            </th>
            <td>
              <StateLabel of={node.opinions[id] ?? 'closed'} />
            </td>
            <td>
              <Time at={node.last_seen} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
