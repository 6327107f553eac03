import { useSignal } from '@preact/signals'
import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import { may } from '../../api/role.js'
import type { DeadLetter, DeadLetterStats } from '../../api/types.js'
import { useEvents } from '../../feed/feed.js'
import { count } from '../../format.js'
import { ask } from '../../parts/ask.js'
import { Empty, Head, Show, State, Table, Time } from '../../parts/basics.js'
import { Choice, Filters, Text } from '../../parts/filters.js'
import { List, useList } from '../../parts/list.js'
import { say } from '../../parts/notice.js'
import { Progress } from '../../parts/progress.js'
import { address, route } from '../../route.js'
import { Entry } from './entry.js'
import { Stats } from './stats.js'
import { exportAll, idsOf, purgeSome, replayAll, replaySome, stopWork, work } from './work.js'

/** Those that are not done with. */
const WAITING = ['pending', 'replaying', 'failed'] as const

const STATUSES = [
  ['', 'waiting or failed'],
  ['any', 'any'],
  ['pending', 'pending'],
  ['failed', 'failed'],
  ['replaying', 'replaying'],
  ['completed', 'completed'],
] as const

/** The last error: that of the last replay, else that of the call itself. */
const latestOf = (details: DeadLetter['error_details']) => details.history?.at(-1) ?? details

/** What could not be saved, and its second chance. */
export function DeadLetters() {
  const { id } = route.value.query
  return id === undefined ? <All /> : <Entry key={id} id={id} />
}

function All() {
  const { operation, status, item_id, order } = route.value.query
  const wanted = status === undefined ? WAITING : status === 'any' ? undefined : status
  const query = { operation, status: wanted, item_id, order }
  const stats = useLoad('stats', (signal) => get<DeadLetterStats>('/dead-letters/stats', {}, signal), 10_000)
  const list = useList<DeadLetter>('/dead-letters', query, 10_000)
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  const reload = (): void => {
    chosen.value = new Set()
    stats.reload()
    list.reload()
  }
  useEvents((events) => {
    if (
      work.peek()?.ended !== false &&
      events.some(({ event_type }) => event_type.startsWith('dead_letter_'))
    ) {
      stats.reload()
      list.reload()
    }
  })
  const toggle = (id: string): void => {
    const next = new Set(chosen.peek())
    if (!next.delete(id)) next.add(id)
    chosen.value = next
  }
  const items = list.data?.items ?? []
  const ids = items.filter(({ dlq_id }) => chosen.value.has(dlq_id)).map(({ dlq_id }) => dlq_id)
  // Work goes on when the question is answered, and is watched as it does.
  const start = (doing: Promise<void>): void =>
    void doing.catch((error: Error) => say(error.message)).finally(reload)

  const replayChosen = (): void =>
    ask({
      title: `Replay ${count(ids.length)} ${ids.length === 1 ? 'entry' : 'entries'}?`,
      text: 'Handlers are called one after the other, each with the payload and the same idempotency key.',
      action: 'Replay',
      run: async (reason) => start(replaySome(ids, reason)),
    })
  const replayEverything = (): void =>
    ask({
      title: `Replay all pending${operation ? ` of ${operation}` : ''}?`,
      text:
        status === 'failed'
          ? 'Those that failed before are tried once more too.'
          : 'Oldest first, as a job of the server’s.',
      action: 'Replay all',
      run: async (reason) => start(replayAll({ operation, retryFailed: status === 'failed' }, reason)),
    })
  const purgeChosen = (): void =>
    ask({
      title: `Delete ${count(ids.length)} ${ids.length === 1 ? 'entry' : 'entries'} for good?`,
      text: 'Their payloads cannot be had back. Export them first where they may be needed.',
      action: 'Delete',
      danger: true,
      run: async (reason) => start(purgeSome(ids, reason)),
    })
  const purgeEverything = (): void =>
    ask({
      title: 'Delete everything that the filter finds?',
      text: `This deletes for good every entry${operation ? ` of ${operation}` : ''}${status === undefined ? ' that waits or failed' : status === 'any' ? ', whatever its state' : ` that is ${status}`}. Export them first where they may be needed.`,
      action: 'Delete all',
      danger: true,
      run: async (reason) => start(idsOf(query).then((found) => purgeSome(found, reason))),
    })

  const many = ids.length > 0
  const { pending = 0, failed = 0 } = stats.data?.by_status ?? {}
  const waiting = status === 'failed' ? pending + failed : pending
  return (
    <>
      <Head title="Dead letters">
        {may('operator') && (
          <>
            <button
              type="button"
              onClick={many ? replayChosen : replayEverything}
              disabled={items.length === 0 || (!many && waiting === 0)}
            >
              {many ? `Replay ${count(ids.length)}` : 'Replay all pending'}
            </button>
            <button
              type="button"
              class="danger"
              onClick={many ? purgeChosen : purgeEverything}
              disabled={items.length === 0}
            >
              {many ? `Delete ${count(ids.length)}` : 'Purge'}
            </button>
          </>
        )}
        <button
          type="button"
          class="secondary"
          disabled={items.length === 0}
          onClick={() =>
            void exportAll(query).then(
              (size) => say(`${count(size)} entries exported.`),
              (error: Error) => say(error.message),
            )
          }
        >
          Export
        </button>
      </Head>
      {work.value !== undefined && (
        <Progress
          work={work.value}
          onStop={stopWork}
          onClose={() => {
            work.value = undefined
          }}
        />
      )}
      <Show of={stats}>{(counted) => counted.total > 0 && <Stats stats={counted} />}</Show>
      <Filters label="Choose dead letters">
        <Text name="operation" label="Operation" />
        <Choice name="status" label="Status" options={STATUSES} />
        <Text name="item_id" label="Item" />
        <Choice
          name="order"
          label="Order"
          options={[
            ['', 'oldest first'],
            ['newest', 'newest first'],
          ]}
        />
      </Filters>
      <List
        of={list}
        empty={
          <Empty title="No dead letters here">
            A call that is given a <code>payload</code> and ends in failure is kept here until it is replayed.
            {status === undefined && (stats.data?.by_status.completed ?? 0) > 0 && (
              <>
                {' '}
                <a href={address('/dead-letters', { operation, status: 'completed' })}>
                  Show those that were replayed
                </a>
                .
              </>
            )}
          </Empty>
        }
      >
        {(shown) => (
          <Table
            label="Dead letters"
            head={[
              <input
                type="checkbox"
                aria-label="Choose all that are shown"
                checked={shown.every(({ dlq_id }) => chosen.value.has(dlq_id))}
                onChange={(change) => {
                  chosen.value = new Set(
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
              <tr key={entry.dlq_id} aria-selected={chosen.value.has(entry.dlq_id)}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Choose ${entry.item_id}`}
                    checked={chosen.value.has(entry.dlq_id)}
                    onChange={() => toggle(entry.dlq_id)}
                  />
                </td>
                <td>
                  <a href={address('/dead-letters', { id: entry.dlq_id })}>{entry.item_id}</a>
                </td>
                <td>{entry.operation_type}</td>
                <td>
                  <State of={entry.status} />
                </td>
                <td class="long">{latestOf(entry.error_details).error_message}</td>
                <td>
                  <Time at={entry.created_at} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </List>
    </>
  )
}
