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

/** What an attempt failed with: its error, and the status of the answer where the error does not say it already. */
function formatFailure({ status_code, error, success }: WireSession['attempts'][number]): string {
  if (error == null) return status_code == null || success ? '' : `answered ${status_code}`
  const told = status_code == null || error.message.includes(String(status_code))
  return `${error.type}: ${error.message}${told ? '' : ` (${status_code})`}`
}

/** What a call ended with, in words. */
function SessionEnd({ session }: { session: WireSession }) {
  const { final_error: error, end_time, success } = session
  if (error != null)
    return (
      <p>
        <strong>{error.type}</strong>: {error.message}
      </p>
    )
  if (end_time == null) return <p class="hint">It is not over yet.</p>
  if (success) return <p class="hint">It succeeded in the end.</p>
  const last = session.attempts.at(-1)
  const answer = last === undefined ? '' : formatFailure(last)
  return <p>The caller got the last answer as it was{answer === '' ? '' : `: ${answer}`}.</p>
}

/** One call: its attempts and waits in time, and what each of them said. */
export function SessionPage({ id }: { id: string }) {
  const running = useSignal(false)
  const loaded = useQuery(
    id,
    async (signal) => {
      const session = await getJson<WireSession>(`/sessions/${encodeURIComponent(id)}`, {}, signal)
      running.value = session.end_time == null
      return session
    },
    running.value ? 2000 : undefined,
  )
  const cancel = (): void =>
    confirm({
      title: 'Cancel this call?',
      text: 'It rejects with CANCELLED at once. A call with a payload is kept as a dead letter.',
      action: 'Cancel the call',
      isDangerous: true,
      async run(reason) {
        const { cancelled } = await callApi<{ cancelled: boolean }>(
          'POST',
          `/sessions/${encodeURIComponent(id)}/cancel`,
          { reason },
        )
        toast(cancelled ? 'The call is cancelled.' : 'The call had ended already.')
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
          const active = session.end_time == null
          return (
            <>
              <PageHead title={session.operation}>
                {active && hasRole('operator') && (
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
                      <StateLabel of={active ? 'running' : session.success ? 'succeeded' : 'failed'} />
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
                    <dt>Took</dt>
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
                <Panel title="What it said">
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
                    numericHead('Waited'),
                    numericHead('Took'),
                    'Member',
                    'Error',
                    'When',
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
