import type { WireSession } from '../../api/types.js'
import {
  EmptyState,
  NoValue,
  numericHead,
  PageHead,
  StateLabel,
  Table,
  Time,
} from '../../components/basics.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { formatDuration, formatName } from '../../format.js'
import { route, urlFor } from '../../route.js'
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

function SessionList() {
  const { operation, policy_id, correlation_id, success, active } = route.value.query
  const list = useList<WireSession>(
    '/sessions',
    { operation, policy_id, correlation_id, success, active },
    5000,
  )
  return (
    <>
      <PageHead title="Sessions" />
      <Filters label="Filter sessions">
        <TextFilter name="operation" label="Operation" />
        <TextFilter name="policy_id" label="Policy" />
        <TextFilter name="correlation_id" label="Correlation id" />
        <ChoiceFilter
          name="success"
          label="Outcome"
          options={[
            ['', 'any'],
            ['true', 'succeeded'],
            ['false', 'failed'],
          ]}
        />
        <ChoiceFilter
          name="active"
          label="State"
          options={[
            ['', 'ended'],
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
          <Table
            label="Sessions"
            head={[
              'Operation',
              'Outcome',
              numericHead('Attempts'),
              numericHead('Duration'),
              'Policy',
              'Last error',
              active === 'true' ? 'Started' : 'Ended',
            ]}
          >
            {sessions.map((session) => (
              <tr key={session.session_id}>
                <td>
                  <a href={urlFor('/sessions', { id: session.session_id })}>{session.operation}</a>
                </td>
                <td>
                  <StateLabel
                    of={session.end_time == null ? 'running' : session.success ? 'succeeded' : 'failed'}
                  />
                  {session.stopped != null && session.stopped !== 'succeeded' && (
                    <div class="hint">{formatName(session.stopped)}</div>
                  )}
                </td>
                <td class="number">{session.total_attempts}</td>
                <td class="number">{formatDuration(session.total_duration)}</td>
                <td>{session.policy_id}</td>
                <td class="long">{lastError(session) || <NoValue />}</td>
                <td>
                  <Time at={session.end_time ?? session.start_time} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </ListView>
    </>
  )
}
