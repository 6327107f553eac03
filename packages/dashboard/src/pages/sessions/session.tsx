import { useSignal } from '@preact/signals'
import { callApi, getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireSession } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import {
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
import { formatDuration, formatName, formatPlural } from '../../format.js'
import { urlFor } from '../../route.js'
import { timelineParts } from './timeline.js'

function Timeline({ session }: { session: WireSession }) {
  const parts = timelineParts(session, clock.wall())
  return (
    <ol class="timeline" aria-label="Timeline of attempts and waits">
      {parts.map(({ kind, attempt, from, to, length }) => (
        <li key={`${kind} ${attempt}`}>
          <span class="timeline-name">
            {kind === 'wait' ? `wait before ${attempt}` : `attempt ${attempt}`}
          </span>
          <span class="timeline-track" aria-hidden="true">
            <span class={kind} style={{ left: `${from * 100}%`, width: `max(3px, ${(to - from) * 100}%)` }} />
          </span>
          <span class="timeline-note">
            {kind === 'wait' ? '' : `${formatName(kind)}, `}
            {formatDuration(length)}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** The error of an attempt, with the status of the response if the message does not contain it. */
function formatFailure({ status_code, error, success }: WireSession['attempts'][number]): string {
  if (error == null) return status_code == null || success ? '' : `status ${status_code}`
  const hasStatus = status_code == null || error.message.includes(String(status_code))
  return `${error.type}: ${error.message}${hasStatus ? '' : ` (${status_code})`}`
}

/** The result of a call. */
function SessionEnd({ session }: { session: WireSession }) {
  const { final_error: error, end_time, success } = session
  if (error != null)
    return (
      <p>
        <strong>{error.type}</strong>: {error.message}
      </p>
    )
  if (end_time == null) return <p class="hint">The call is still running.</p>
  if (success) return <p class="hint">The call succeeded.</p>
  const last = session.attempts.at(-1)
  const failure = last === undefined ? '' : formatFailure(last)
  return <p>The caller received the last response{failure === '' ? '' : `: ${failure}`}.</p>
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
  return (
    <>
      <p>
        <a href="/sessions">← All sessions</a>
      </p>
      <QueryView of={loaded}>
        {(session) => {
          const isActive = session.end_time == null
          return (
            <>
              <PageHead title={session.operation}>
                {isActive && hasRole('operator') && (
                  <button type="button" class="danger" onClick={cancel}>
                    Cancel the call
                  </button>
                )}
              </PageHead>
              <Panel title="Timeline">
                <Timeline session={session} />
              </Panel>
              <div class="panels">
                <Panel title="Call">
                  <dl class="facts">
                    <dt>Outcome</dt>
                    <dd>
                      <StateLabel of={isActive ? 'running' : session.success ? 'succeeded' : 'failed'} />
                      {session.stopped != null &&
                        session.stopped !== 'succeeded' &&
                        ` (${formatName(session.stopped)})`}
                    </dd>
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
                    <dd>
                      {formatDuration(session.total_duration)},{' '}
                      {formatPlural(session.total_attempts, 'attempt', 'attempts')}
                    </dd>
                    <dt>Policy</dt>
                    <dd>
                      <a href={urlFor('/policies', { id: session.policy_id })}>{session.policy_id}</a>
                    </dd>
                    <dt>Session</dt>
                    <dd>{session.session_id}</dd>
                    <dt>Correlation</dt>
                    <dd>
                      <a href={urlFor('/sessions', { correlation_id: session.correlation_id })}>
                        {session.correlation_id}
                      </a>
                    </dd>
                  </dl>
                </Panel>
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
              <Panel title="Attempts">
                <Table
                  label="Attempts"
                  head={[
                    'No.',
                    'Outcome',
                    numericHead('Delay'),
                    numericHead('Duration'),
                    'Member',
                    'Error',
                    'Time',
                  ]}
                >
                  {session.attempts.map((attempt) => (
                    <tr key={attempt.attempt_number}>
                      <td>{attempt.attempt_number}</td>
                      <td>
                        <StateLabel
                          of={
                            attempt.success
                              ? 'succeeded'
                              : attempt.outcome === 'failure'
                                ? 'failed'
                                : attempt.outcome
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
            </>
          )
        }}
      </QueryView>
    </>
  )
}
