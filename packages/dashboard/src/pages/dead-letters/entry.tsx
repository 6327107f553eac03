import { hasRole } from '../../api/role.js'
import { useQuery } from '../../api/use-query.js'
import { Json, PageHead, Panel, QueryView, StateLabel, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { formatPlural } from '../../format.js'
import { navigate, urlFor } from '../../route.js'
import { fetchDeadLetter, purgeSelected, replaySelected } from './bulk-actions.js'

/** The page of one dead letter: payload, errors, replay and delete. */
export function DeadLetterPage({ id }: { id: string }) {
  const loaded = useQuery(id, (stop) => fetchDeadLetter(id, stop))
  const replay = (): void =>
    confirm({
      title: 'Replay this entry?',
      text: 'The handler is called with the payload and the same idempotency key.',
      action: 'Replay',
      async run(reason) {
        await replaySelected([id], reason)
        loaded.reload()
      },
    })
  const purge = (): void =>
    confirm({
      title: 'Delete this entry permanently?',
      text: 'The payload cannot be restored. Export it first if you may need it.',
      action: 'Delete',
      isDangerous: true,
      async run(reason) {
        await purgeSelected([id], reason)
        navigate('/dead-letters')
      },
    })
  return (
    <>
      <p>
        <a href="/dead-letters">← All dead letters</a>
      </p>
      <QueryView of={loaded}>
        {(entry) => (
          <>
            <PageHead title={entry.item_id}>
              {hasRole('operator') && !entry.processed && (
                <button type="button" onClick={replay} disabled={entry.status === 'replaying'}>
                  Replay
                </button>
              )}
              {hasRole('operator') && (
                <button type="button" class="danger" onClick={purge}>
                  Delete
                </button>
              )}
            </PageHead>
            <div class="panels">
              <Panel title="Entry">
                <dl class="facts">
                  <dt>Status</dt>
                  <dd>
                    <StateLabel of={entry.status} />
                  </dd>
                  <dt>Operation</dt>
                  <dd>{entry.operation_type}</dd>
                  <dt>Id</dt>
                  <dd>{entry.dlq_id}</dd>
                  <dt>Created</dt>
                  <dd>
                    <Time at={entry.created_at} />
                  </dd>
                  <dt>Last attempt</dt>
                  <dd>
                    <Time at={entry.last_attempt} />
                  </dd>
                  {entry.replay_requested_at != null && (
                    <>
                      <dt>Replay requested</dt>
                      <dd>
                        <Time at={entry.replay_requested_at} />, waiting for a process with the handler
                      </dd>
                    </>
                  )}
                  <dt>Idempotency key</dt>
                  <dd>{entry.idempotency_key}</dd>
                  {entry.session_id != null && (
                    <>
                      <dt>Session</dt>
                      <dd>
                        <a href={urlFor('/sessions', { id: entry.session_id })}>{entry.session_id}</a>
                      </dd>
                    </>
                  )}
                </dl>
              </Panel>
              <Panel title="Error">
                <p>
                  <strong>{entry.error_details.error_type}</strong>: {entry.error_details.error_message}
                </p>
                <p class="hint">after {formatPlural(entry.error_details.retry_count, 'retry', 'retries')}</p>
                {entry.error_details.stack_trace != null && (
                  <details>
                    <summary>Stack trace</summary>
                    <pre class="json">{entry.error_details.stack_trace}</pre>
                  </details>
                )}
                {(entry.error_details.history?.length ?? 0) > 0 && (
                  <details>
                    <summary>Errors of replays</summary>
                    <Json value={entry.error_details.history} label="Errors of replays" />
                  </details>
                )}
              </Panel>
              <Panel title="Payload" class="wide">
                <Json value={entry.original_payload} label="Payload" />
              </Panel>
            </div>
          </>
        )}
      </QueryView>
    </>
  )
}
