import { useSignal } from '@preact/signals'
import { hasRole } from '../../api/role.js'
import type { WireDeadLetter } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { place } from '../../browser.js'
import { ActionButton } from '../../components/action-button.js'
import {
  CopyButton,
  Id,
  Json,
  PageHead,
  Panel,
  QueryView,
  StateLabel,
  Time,
} from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { useEvents } from '../../events/event-stream.js'
import { formatPlural } from '../../format.js'
import { navigate, route, urlFor } from '../../route.js'
import { fetchDeadLetter, purgeOne, replayOne } from './bulk-actions.js'
import { createWaitOption } from './confirm-bulk.js'
import { PayloadPanel } from './payload.js'
import { ReplayResult } from './replay-result.js'
import { latestError } from './table.js'

/** The command that replays a dead letter through the API. */
const curlCommand = (id: string): string =>
  `curl -X POST '${place.origin}/api/v1/dead-letters/${encodeURIComponent(id)}/replay' -H "authorization: Bearer $HOLDFAST_TOKEN"`

/** The page of one dead letter: payload, errors, replay, edit and delete. */
export function DeadLetterPage({ id }: { id: string }) {
  const loaded = useQuery(id, (stop) => fetchDeadLetter(id, stop))
  const result = useSignal<{ entry: WireDeadLetter; isWaiting: boolean } | undefined>(undefined)
  useEvents((events) => {
    if (events.some(({ context }) => context?.['dlq_id'] === id)) loaded.reload()
  })
  const runReplay = async (reason: string, isWaiting: boolean): Promise<void> => {
    result.value = undefined
    result.value = { entry: await replayOne(id, { reason, waitForBreaker: isWaiting }), isWaiting }
    loaded.reload()
  }
  const showError = (error: Error): void => toast(error.message)
  const replay = (): void => {
    const { isWaiting, Option } = createWaitOption()
    confirm({
      title: 'Replay this dead letter?',
      text: (
        <>
          <p>The handler is called with the payload and the same idempotency key.</p>
          <Option />
        </>
      ),
      action: 'Replay',
      run: (reason) => runReplay(reason, isWaiting.peek()),
    })
  }
  const purge = (): void =>
    confirm({
      title: 'Delete this dead letter?',
      text: 'This cannot be undone. Copy the payload first if you may need it.',
      action: 'Delete',
      isDangerous: true,
      async run(reason) {
        await purgeOne(id, reason)
        navigate('/dead-letters')
      },
    })
  const { id: _, ...listQuery } = route.value.query
  return (
    <>
      <p>
        <a href={urlFor('/dead-letters', listQuery)}>← All dead letters</a>
      </p>
      <QueryView of={loaded}>
        {(entry) => (
          <>
            <PageHead title={entry.item_id}>
              {hasRole('operator') && !entry.processed && (
                <ActionButton type="button" onClick={replay} disabled={entry.status === 'replaying'}>
                  Replay
                </ActionButton>
              )}
              {hasRole('operator') && (
                <ActionButton type="button" class="danger" onClick={purge}>
                  Delete
                </ActionButton>
              )}
              <CopyButton text={curlCommand(entry.dlq_id)} label="curl command of the replay">
                Copy curl
              </CopyButton>
            </PageHead>
            {result.value !== undefined && (
              <ReplayResult {...result.value} onWait={() => void runReplay('', true).catch(showError)} />
            )}
            <div class="panels">
              <EntryFacts entry={entry} />
              <EntryErrors entry={entry} />
              <PayloadPanel
                entry={entry}
                onSaved={(_saved, isReplayed) => {
                  if (isReplayed) void runReplay('', false).catch(showError)
                  else loaded.reload()
                }}
              />
            </div>
          </>
        )}
      </QueryView>
    </>
  )
}

function EntryFacts({ entry }: { entry: WireDeadLetter }) {
  return (
    <Panel title="Dead letter">
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <StateLabel of={entry.status} />
        </dd>
        <dt>Operation</dt>
        <dd>
          <a href={urlFor('/dead-letters', { operation: entry.operation_type })}>{entry.operation_type}</a>
        </dd>
        <dt>ID</dt>
        <dd>
          <Id value={entry.dlq_id} label="dead letter ID" />
        </dd>
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
              <Time at={entry.replay_requested_at} />, waiting for the breaker or for a process with the
              handler
            </dd>
          </>
        )}
        <dt>Idempotency key</dt>
        <dd>
          <Id value={entry.idempotency_key} label="idempotency key" />
        </dd>
        {entry.correlation_id != null && (
          <>
            <dt>Correlation ID</dt>
            <dd>
              <Id
                value={entry.correlation_id}
                label="correlation ID"
                href={urlFor('/sessions', { correlation_id: entry.correlation_id })}
              />
            </dd>
          </>
        )}
        {entry.session_id != null && (
          <>
            <dt>Session</dt>
            <dd>
              <Id
                value={entry.session_id}
                label="session ID"
                href={urlFor('/sessions', { id: entry.session_id })}
              />
            </dd>
          </>
        )}
      </dl>
    </Panel>
  )
}

function EntryErrors({ entry }: { entry: WireDeadLetter }) {
  const { history = [], ...first } = entry.error_details
  const error = latestError(entry)
  return (
    <Panel
      title="Error"
      actions={
        <CopyButton
          text={`${error.error_type}: ${error.error_message}\n${error.stack_trace ?? ''}`}
          label="error"
        >
          Copy error
        </CopyButton>
      }
    >
      <p>
        <strong>{error.error_type}</strong>: {error.error_message}
      </p>
      <p class="hint">
        {history.length > 0
          ? `after ${formatPlural(history.length, 'failed replay', 'failed replays')}`
          : `after ${formatPlural(first.retry_count, 'retry', 'retries')}`}
      </p>
      {error.stack_trace != null && (
        <details>
          <summary>Stack trace</summary>
          <pre class="json">{error.stack_trace}</pre>
        </details>
      )}
      {history.length > 0 && (
        <details>
          <summary>Error of the call and errors of replays</summary>
          <Json value={[first, ...history]} label="Errors" />
        </details>
      )}
    </Panel>
  )
}
