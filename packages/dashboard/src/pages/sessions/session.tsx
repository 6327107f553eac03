import { useSignal } from '@preact/signals'
import { callApi, getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireSession } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { place } from '../../browser.js'
import { ActionButton } from '../../components/action-button.js'
import {
  CopyButton,
  Id,
  Json,
  NoValue,
  numericHead,
  PageHead,
  Panel,
  QueryView,
  StateLabel,
  Table,
  Time,
} from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { formatDuration } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { fetchNeighbours } from './neighbours.js'
import { formatAttempts, formatFailure, formatStopReason, isRejected, resultOf } from './outcome.js'
import { Timeline } from './timeline-view.js'

/** The result of a call. */
function SessionEnd({ session }: { session: WireSession }) {
  const { final_error: error, end_time, success } = session
  if (error != null)
    return (
      <p>
        <strong>{error.type}</strong>: {error.message}{' '}
        <CopyButton text={`${error.type}: ${error.message}`} label="error">
          Copy error
        </CopyButton>
      </p>
    )
  if (end_time == null) return <p class="hint">The call is still running.</p>
  if (success) return <p class="hint">The call succeeded.</p>
  const last = session.attempts.at(-1)
  const failure = last === undefined ? '' : formatFailure(last)
  return <p>The caller received the last response{failure === '' ? '' : `: ${failure}`}.</p>
}

/** The command that reads a session through the API. */
const curlCommand = (id: string): string =>
  `curl '${place.origin}/api/v1/sessions/${encodeURIComponent(id)}' -H "authorization: Bearer $HOLDFAST_TOKEN"`

/** Links to the sessions before and after this one, within the filter of the list. */
function NeighbourLinks({ session }: { session: WireSession }) {
  const { id: _id, sort: _sort, range: _range, from: _from, to: _to, ...filter } = route.value.query
  const found = useQuery(`${session.session_id} ${JSON.stringify(filter)}`, (signal) =>
    fetchNeighbours(session, filter, signal),
  )
  const link = (id: string | undefined, text: string) =>
    id === undefined ? (
      <span class="none">{text}</span>
    ) : (
      <a href={urlFor('/sessions', { ...route.value.query, id })}>{text}</a>
    )
  return (
    <>
      {link(found.data?.previous, '← Previous session')} {link(found.data?.next, 'Next session →')}
    </>
  )
}

function CallFacts({ session }: { session: WireSession }) {
  const result = resultOf(session)
  return (
    <Panel title="Call">
      <dl class="facts">
        <dt>Status</dt>
        <dd>{session.end_time == null ? 'running' : 'finished'}</dd>
        <dt>Result</dt>
        <dd>
          {result === 'running' ? (
            <NoValue />
          ) : (
            <>
              <StateLabel of={result} />
              {session.stopped != null && result !== 'succeeded' && `: ${formatStopReason(session.stopped)}`}
            </>
          )}
        </dd>
        <dt>Attempts</dt>
        <dd>{formatAttempts(session)}</dd>
        <dt>Started</dt>
        <dd>
          <Time at={session.start_time} />
        </dd>
        {session.next_retry_time != null && (
          <>
            <dt>Next attempt</dt>
            <dd>
              <Time at={session.next_retry_time} />
            </dd>
          </>
        )}
        <dt>Duration</dt>
        <dd>{formatDuration(session.total_duration)}</dd>
        <dt>Policy</dt>
        <dd>
          <a href={urlFor('/policies', { id: session.policy_id })}>{session.policy_id}</a>
        </dd>
        <dt>Session ID</dt>
        <dd>
          <Id value={session.session_id} label="session ID" />
        </dd>
        <dt>Correlation ID</dt>
        <dd>
          <Id
            value={session.correlation_id}
            label="correlation ID"
            href={urlFor('/sessions', { correlation_id: session.correlation_id })}
          />
        </dd>
      </dl>
    </Panel>
  )
}

function AttemptTable({ session }: { session: WireSession }) {
  return (
    <Panel title="Attempts">
      <Table
        label="Attempts"
        head={['No.', 'Outcome', numericHead('Backoff'), numericHead('Duration'), 'Member', 'Error', 'Time']}
      >
        {session.attempts.map((attempt) => (
          <tr key={attempt.attempt_number}>
            <td>{isRejected(attempt) ? <NoValue /> : attempt.attempt_number}</td>
            <td>
              {isRejected(attempt) && 'rejected: '}
              <StateLabel
                of={
                  attempt.success ? 'succeeded' : attempt.outcome === 'failure' ? 'failed' : attempt.outcome
                }
              />
            </td>
            <td class="number">{formatDuration(attempt.delay)}</td>
            <td class="number">{formatDuration(attempt.duration)}</td>
            <td>{attempt.proxy_id ?? <NoValue />}</td>
            <td class="long">{formatFailure(attempt) || <NoValue />}</td>
            <td>
              <Time at={attempt.timestamp} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

/** The page of one call: the timeline of its attempts and waits, and their errors. */
export function SessionPage({ id }: { id: string }) {
  const isRunning = useSignal(false)
  const loaded = useQuery(
    id,
    async (signal) => {
      const session = await getJson<WireSession>(`/sessions/${encodeURIComponent(id)}`, {}, signal)
      isRunning.value = session.end_time == null
      return session
    },
    isRunning.value ? 2000 : undefined,
  )
  const cancel = (): void =>
    confirm({
      title: 'Cancel this call?',
      text: 'The call rejects with CANCELLED at once. A call with a payload becomes a dead letter.',
      action: 'Cancel the call',
      isDangerous: true,
      async run(reason) {
        const { cancelled } = await callApi<{ cancelled: boolean }>(
          'POST',
          `/sessions/${encodeURIComponent(id)}/cancel`,
          { reason },
        )
        toast(cancelled ? 'The call was cancelled.' : 'The call had already ended.')
        loaded.reload()
      },
    })
  const { id: _, ...listQuery } = route.value.query
  return (
    <>
      <p class="crumbs">
        <a href={urlFor('/sessions', listQuery)}>← All sessions</a>
        {loaded.data !== undefined && loaded.data.end_time != null && (
          <NeighbourLinks session={loaded.data} />
        )}
      </p>
      <QueryView of={loaded}>
        {(session) => (
          <>
            <PageHead title={session.operation}>
              {session.end_time == null && hasRole('operator') && (
                <ActionButton type="button" class="danger" onClick={cancel}>
                  Cancel the call
                </ActionButton>
              )}
              <CopyButton text={curlCommand(session.session_id)} label="curl command of the session">
                Copy curl
              </CopyButton>
            </PageHead>
            <Panel title="Timeline">
              <Timeline session={session} />
            </Panel>
            <div class="panels">
              <CallFacts session={session} />
              <Panel title="Result">
                <SessionEnd session={session} />
                {session.context != null && (
                  <>
                    <h3>Context</h3>
                    <Json value={session.context} label="Context" />
                  </>
                )}
              </Panel>
            </div>
            <AttemptTable session={session} />
          </>
        )}
      </QueryView>
    </>
  )
}
