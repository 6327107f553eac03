import { useSignal } from '@preact/signals'
import { getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireDeadLetter, WireDeadLetterStats } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, PageHead, QueryView, StateLabel, Table, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { ProgressPanel } from '../../components/progress.js'
import { toast } from '../../components/toast.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount } from '../../format.js'
import { route, urlFor } from '../../route.js'
import {
  bulkWork,
  exportMatching,
  fetchIds,
  purgeSelected,
  replayAll,
  replaySelected,
  stopBulkWork,
} from './bulk-actions.js'
import { DeadLetterPage } from './entry.js'
import { DeadLetterStatsTable } from './stats.js'

/** The statuses of dead letters that are not completed. */
const OPEN_STATUSES = ['pending', 'replaying', 'failed'] as const

const STATUSES = [
  ['', 'not completed'],
  ['any', 'any'],
  ['pending', 'pending'],
  ['failed', 'failed'],
  ['replaying', 'replaying'],
  ['completed', 'completed'],
] as const

/** The error of the last replay, else that of the call. */
const latestError = (details: WireDeadLetter['error_details']) => details.history?.at(-1) ?? details

/** The page of dead letters. */
export function DeadLetters() {
  const { id } = route.value.query
  return id === undefined ? <AllDeadLetters /> : <DeadLetterPage key={id} id={id} />
}

function AllDeadLetters() {
  const { operation, status, item_id, order } = route.value.query
  const statuses = status === undefined ? OPEN_STATUSES : status === 'any' ? undefined : status
  const query = { operation, status: statuses, item_id, order }
  const stats = useQuery(
    'stats',
    (signal) => getJson<WireDeadLetterStats>('/dead-letters/stats', {}, signal),
    10_000,
  )
  const list = useList<WireDeadLetter>('/dead-letters', query, 10_000)
  const selection = useSignal<ReadonlySet<string>>(new Set())
  const reload = (): void => {
    selection.value = new Set()
    stats.reload()
    list.reload()
  }
  useEvents((events) => {
    if (
      bulkWork.peek()?.isEnded !== false &&
      events.some(({ event_type }) => event_type.startsWith('dead_letter_'))
    ) {
      stats.reload()
      list.reload()
    }
  })
  const toggle = (id: string): void => {
    const next = new Set(selection.peek())
    if (!next.delete(id)) next.add(id)
    selection.value = next
  }
  const items = list.data?.items ?? []
  const ids = items.filter(({ dlq_id }) => selection.value.has(dlq_id)).map(({ dlq_id }) => dlq_id)
  // The action continues after the dialog is closed, and its progress is shown.
  const start = (work: Promise<void>): void =>
    void work.catch((error: Error) => toast(error.message)).finally(reload)

  const confirmReplaySelected = (): void =>
    confirm({
      title: `Replay ${formatCount(ids.length)} ${ids.length === 1 ? 'entry' : 'entries'}?`,
      text: 'The handlers are called in sequence, each with the payload and the same idempotency key.',
      action: 'Replay',
      run: async (reason) => start(replaySelected(ids, reason)),
    })
  const confirmReplayAll = (): void =>
    confirm({
      title: `Replay all pending${operation ? ` of ${operation}` : ''}?`,
      text:
        status === 'failed'
          ? 'Dead letters whose last replay failed are replayed too.'
          : 'The server replays them in a background job, oldest first.',
      action: 'Replay all',
      run: async (reason) => start(replayAll({ operation, retryFailed: status === 'failed' }, reason)),
    })
  const confirmDeleteSelected = (): void =>
    confirm({
      title: `Delete ${formatCount(ids.length)} ${ids.length === 1 ? 'entry' : 'entries'} permanently?`,
      text: 'The payloads cannot be restored. Export them first if you may need them.',
      action: 'Delete',
      isDangerous: true,
      run: async (reason) => start(purgeSelected(ids, reason)),
    })
  const confirmDeleteAll = (): void =>
    confirm({
      title: 'Delete all entries that match the filter?',
      text: `This permanently deletes every entry${operation ? ` of ${operation}` : ''}${status === undefined ? ' that is not completed' : status === 'any' ? ' in every status' : ` with the status ${status}`}. Export them first where they may be needed.`,
      action: 'Delete all',
      isDangerous: true,
      run: async (reason) => start(fetchIds(query).then((found) => purgeSelected(found, reason))),
    })

  const hasSelection = ids.length > 0
  const { pending = 0, failed = 0 } = stats.data?.by_status ?? {}
  const replayable = status === 'failed' ? pending + failed : pending
  return (
    <>
      <PageHead title="Dead letters">
        {hasRole('operator') && (
          <>
            <button
              type="button"
              onClick={hasSelection ? confirmReplaySelected : confirmReplayAll}
              disabled={items.length === 0 || (!hasSelection && replayable === 0)}
            >
              {hasSelection ? `Replay ${formatCount(ids.length)}` : 'Replay all pending'}
            </button>
            <button
              type="button"
              class="danger"
              onClick={hasSelection ? confirmDeleteSelected : confirmDeleteAll}
              disabled={items.length === 0}
            >
              {hasSelection ? `Delete ${formatCount(ids.length)}` : 'Delete all'}
            </button>
          </>
        )}
        <button
          type="button"
          class="secondary"
          disabled={items.length === 0}
          onClick={() =>
            void exportMatching(query).then(
              (size) => toast(`${formatCount(size)} entries exported.`),
              (error: Error) => toast(error.message),
            )
          }
        >
          Export
        </button>
      </PageHead>
      {bulkWork.value !== undefined && (
        <ProgressPanel
          work={bulkWork.value}
          onStop={stopBulkWork}
          onClose={() => {
            bulkWork.value = undefined
          }}
        />
      )}
      <QueryView of={stats}>
        {(counted) => counted.total > 0 && <DeadLetterStatsTable stats={counted} />}
      </QueryView>
      <Filters label="Filter dead letters">
        <TextFilter name="operation" label="Operation" />
        <ChoiceFilter name="status" label="Status" options={STATUSES} />
        <TextFilter name="item_id" label="Item" />
        <ChoiceFilter
          name="order"
          label="Order"
          options={[
            ['', 'oldest first'],
            ['newest', 'newest first'],
          ]}
        />
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title="No dead letters">
            A call with a <code>payload</code> that fails after all retries is listed here until it is
            replayed.
            {status === undefined && (stats.data?.by_status.completed ?? 0) > 0 && (
              <>
                {' '}
                <a href={urlFor('/dead-letters', { operation, status: 'completed' })}>
                  Show completed dead letters
                </a>
                .
              </>
            )}
          </EmptyState>
        }
      >
        {(shown) => (
          <Table
            label="Dead letters"
            head={[
              <input
                type="checkbox"
                aria-label="Select all rows"
                checked={shown.every(({ dlq_id }) => selection.value.has(dlq_id))}
                onChange={(change) => {
                  selection.value = new Set(
                    change.currentTarget.checked ? shown.map(({ dlq_id }) => dlq_id) : [],
                  )
                }}
              />,
              'Item',
              'Operation',
              'Status',
              'Error',
              'Created',
            ]}
          >
            {shown.map((entry) => (
              <tr key={entry.dlq_id} aria-selected={selection.value.has(entry.dlq_id)}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Select ${entry.item_id}`}
                    checked={selection.value.has(entry.dlq_id)}
                    onChange={() => toggle(entry.dlq_id)}
                  />
                </td>
                <td>
                  <a href={urlFor('/dead-letters', { id: entry.dlq_id })}>{entry.item_id}</a>
                </td>
                <td>{entry.operation_type}</td>
                <td>
                  <StateLabel of={entry.status} />
                </td>
                <td class="long">{latestError(entry.error_details).error_message}</td>
                <td>
                  <Time at={entry.created_at} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </ListView>
    </>
  )
}
