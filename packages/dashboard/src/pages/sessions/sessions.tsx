import type { WireSession } from '../../api/types.js'
import { EmptyState, NoValue, PageHead, StateLabel, Time } from '../../components/basics.js'
import { type Column, DataTable } from '../../components/data-table.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { formatDuration } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { attemptCount, formatStopReason, resultOf } from './outcome.js'
import { SessionPage } from './session.js'

/** The page of sessions: calls with at least one failed attempt. */
export function Sessions() {
  const { id } = route.value.query
  return id === undefined ? <SessionList /> : <SessionPage key={id} id={id} />
}

/** The message of the last failed attempt. */
function lastError({ attempts }: WireSession): string {
  const failed = attempts.findLast(({ success }) => !success)
  return failed?.error?.message ?? (failed?.status_code == null ? '' : `status ${failed.status_code}`)
}

const endOf = ({ end_time, start_time }: WireSession): string => end_time ?? start_time

/** The columns of the list. `filter` is kept in the links, so that previous and next follow it. */
const columnsFor = (filter: Record<string, string>, isActive: boolean): Column<WireSession>[] => [
  {
    key: 'operation',
    title: 'Operation',
    value: ({ operation }) => operation,
    cell: ({ session_id, operation }) => (
      <a href={urlFor('/sessions', { ...filter, id: session_id })} title={session_id}>
        {operation}
      </a>
    ),
  },
  {
    key: 'result',
    title: 'Result',
    value: resultOf,
    cell: (session) => {
      const result = resultOf(session)
      return (
        <>
          <StateLabel of={result} />
          {session.stopped != null && result !== 'succeeded' && result !== 'running' && (
            <div class="hint">{formatStopReason(session.stopped)}</div>
          )}
        </>
      )
    },
  },
  { key: 'attempts', title: 'Attempts', value: attemptCount, isNumeric: true },
  {
    key: 'duration',
    title: 'Duration',
    value: ({ total_duration }) => total_duration,
    cell: ({ total_duration }) => formatDuration(total_duration),
    isNumeric: true,
  },
  { key: 'policy', title: 'Policy', value: ({ policy_id }) => policy_id },
  {
    key: 'error',
    title: 'Last error',
    value: lastError,
    cell: (session) => <span class="long">{lastError(session) || <NoValue />}</span>,
  },
  {
    key: 'time',
    title: isActive ? 'Started' : 'Ended',
    value: endOf,
    cell: (session) => <Time at={endOf(session)} />,
  },
]

function SessionList() {
  const { query } = route.value
  const { operation, policy_id, correlation_id, success, active } = query
  const list = useList<WireSession>(
    '/sessions',
    { operation, policy_id, correlation_id, success, active, ...rangeFilter.value },
    5000,
  )
  return (
    <>
      <PageHead title="Sessions" />
      <Filters label="Filter sessions">
        <TextFilter name="operation" label="Operation" />
        <TextFilter name="policy_id" label="Policy ID" />
        <TextFilter name="correlation_id" label="Correlation ID" />
        <ChoiceFilter
          name="success"
          label="Result"
          options={[
            ['', 'any'],
            ['true', 'succeeded'],
            ['false', 'failed'],
          ]}
        />
        <ChoiceFilter
          name="active"
          label="Status"
          options={[
            ['', 'finished'],
            ['true', 'running'],
          ]}
        />
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title={active === 'true' ? 'No running calls' : 'No sessions'}>
            Calls with at least one failed attempt are recorded here. Calls that succeed at the first attempt
            are only counted.
          </EmptyState>
        }
      >
        {(sessions) => (
          <DataTable
            label="Sessions"
            columns={columnsFor(query, active === 'true')}
            rows={sessions}
            keyOf={({ session_id }) => session_id}
            csv="sessions"
          />
        )}
      </ListView>
    </>
  )
}
