import { type Signal, useSignal } from '@preact/signals'
import { getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireDeadLetter, WireDeadLetterStats, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { ActionButton } from '../../components/action-button.js'
import { EmptyState, PageHead, QueryView } from '../../components/basics.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { toast } from '../../components/toast.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount } from '../../format.js'
import { route, urlFor } from '../../route.js'
import {
  type BulkWork,
  bulkWork,
  exportMatching,
  fetchCount,
  replayableCount,
  replayTarget,
} from './bulk-actions.js'
import { BulkPanel } from './bulk-panel.js'
import {
  confirmPurgeMatching,
  confirmPurgeSelected,
  confirmReplayMatching,
  confirmReplaySelected,
} from './confirm-bulk.js'
import { DeadLetterPage } from './entry.js'
import { currentFilter, STATUS_CHOICES, type WireDeadLetterFilter } from './filter.js'
import { DeadLetterStatsTable } from './stats.js'
import { DeadLetterTable } from './table.js'
import { selectYesterday } from './yesterday.js'

const REFRESH_MS = 10_000

/** The page of dead letters. */
export function DeadLetters() {
  const { id } = route.value.query
  return id === undefined ? <AllDeadLetters /> : <DeadLetterPage key={id} id={id} />
}

const showError = (error: Error): void => toast(error.message)

/** The buttons that replay and delete the selected dead letters, else all that match. */
function BulkButtons(props: {
  filter: WireDeadLetterFilter
  items: readonly WireDeadLetter[]
  selection: Signal<ReadonlySet<string>>
  replayable: number
  total: number
  start: (work: Promise<void>) => void
}) {
  const { filter, items, selection, replayable, total, start } = props
  const ids = items.filter(({ dlq_id }) => selection.value.has(dlq_id)).map(({ dlq_id }) => dlq_id)
  const target = { filter, ids }
  const hasSelection = ids.length > 0
  const label = (count: number): string =>
    hasSelection ? `${formatCount(ids.length)} selected` : `${formatCount(count)} matching`
  return (
    <>
      <ActionButton
        type="button"
        onClick={() =>
          hasSelection
            ? confirmReplaySelected(target, start)
            : void confirmReplayMatching(filter, start).catch(showError)
        }
        disabled={!hasSelection && replayable === 0}
      >
        Replay {label(replayable)}
      </ActionButton>
      <ActionButton
        type="button"
        class="danger"
        onClick={() =>
          hasSelection
            ? confirmPurgeSelected(target, start)
            : void confirmPurgeMatching(filter, start).catch(showError)
        }
        disabled={!hasSelection && total === 0}
      >
        Delete {label(total)}
      </ActionButton>
    </>
  )
}

function AllDeadLetters() {
  const { operation, status, order } = route.value.query
  const filter = currentFilter()
  const stats = useQuery(
    'stats',
    async (signal) => {
      const [counts, pending] = await Promise.all([
        getJson<WireDeadLetterStats>('/dead-letters/stats', {}, signal),
        getJson<WirePage<WireDeadLetter>>('/dead-letters', { status: 'pending', limit: '1' }, signal),
      ])
      return { counts, oldestPending: pending.items[0] }
    },
    REFRESH_MS,
  )
  const count = useQuery(JSON.stringify(filter), (signal) => fetchCount(filter, signal), REFRESH_MS)
  const list = useList<WireDeadLetter>('/dead-letters', { ...filter, order }, REFRESH_MS)
  const selection = useSignal<ReadonlySet<string>>(new Set())
  const reload = (): void => {
    selection.value = new Set()
    stats.reload()
    count.reload()
    list.reload()
  }
  useEvents((events) => {
    if (bulkWork.peek()?.isEnded === false) return
    if (!events.some(({ event_type }) => event_type.startsWith('dead_letter_'))) return
    stats.reload()
    count.reload()
    list.check()
  })
  // The action continues after the dialog is closed, and its progress is shown.
  const start = (work: Promise<void>): void => void work.finally(reload)
  const waitForBreaker = (work: BulkWork): void =>
    start(replayTarget(work.target, work.skipped, { reason: '', waitForBreaker: true }))
  const replayable = count.data === undefined ? 0 : replayableCount(count.data)
  const total = count.data?.total ?? 0
  return (
    <>
      <PageHead title="Dead letters">
        {hasRole('operator') && (
          <BulkButtons
            filter={filter}
            items={list.data?.items ?? []}
            selection={selection}
            replayable={replayable}
            total={total}
            start={start}
          />
        )}
        <button
          type="button"
          class="secondary"
          disabled={total === 0}
          onClick={() =>
            void exportMatching(filter).then(
              (size) => toast(`${formatCount(size)} dead letters exported.`),
              showError,
            )
          }
        >
          Export JSON Lines
        </button>
      </PageHead>
      <BulkPanel onWait={waitForBreaker} />
      <QueryView of={stats}>
        {({ counts, oldestPending }) =>
          counts.total > 0 && <DeadLetterStatsTable stats={counts} oldestPending={oldestPending} />
        }
      </QueryView>
      <Filters label="Filter dead letters">
        <TextFilter name="operation" label="Operation" />
        <ChoiceFilter name="status" label="Status" options={STATUS_CHOICES} />
        <TextFilter name="item_id" label="Filter by ID" placeholder="item ID" />
        <TextFilter name="search" label="Search payload" placeholder='"customer":"acme"' />
        <ChoiceFilter
          name="order"
          label="Order"
          options={[
            ['', 'oldest first'],
            ['newest', 'newest first'],
          ]}
        />
        <button type="button" class="small secondary" onClick={selectYesterday}>
          Yesterday
        </button>
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title="No dead letters">
            A call with a <code>payload</code> that fails after all retries is listed here until it is
            replayed.
            {status === undefined && (stats.data?.counts.by_status.completed ?? 0) > 0 && (
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
        {(shown) => <DeadLetterTable entries={shown} selection={selection} />}
      </ListView>
    </>
  )
}
