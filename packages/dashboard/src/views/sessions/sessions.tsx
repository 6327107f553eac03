import type { Session } from '../../api/types.js'
import { duration, words } from '../../format.js'
import { Empty, Head, None, number, State, Table, Time } from '../../parts/basics.js'
import { Choice, Filters, Text } from '../../parts/filters.js'
import { List, useList } from '../../parts/list.js'
import { address, route } from '../../route.js'
import { OneSession } from './session.js'

/** Calls that failed at least once. */
export function Sessions() {
  const { id } = route.value.query
  return id === undefined ? <All /> : <OneSession key={id} id={id} />
}

/** What the last attempt that failed said. */
function lastError({ attempts }: Session): string {
  const failed = attempts.findLast(({ success }) => !success)
  return failed?.error?.message ?? (failed?.status_code == null ? '' : `answered ${failed.status_code}`)
}

function All() {
  const { operation, policy_id, correlation_id, success, active } = route.value.query
  const list = useList<Session>('/sessions', { operation, policy_id, correlation_id, success, active }, 5000)
  return (
    <>
      <Head title="Sessions" />
      <Filters label="Choose sessions">
        <Text name="operation" label="Operation" />
        <Text name="policy_id" label="Policy" />
        <Text name="correlation_id" label="Correlation id" />
        <Choice
          name="success"
          label="Outcome"
          options={[
            ['', 'any'],
            ['true', 'succeeded'],
            ['false', 'failed'],
          ]}
        />
        <Choice
          name="active"
          label="Which"
          options={[
            ['', 'ended'],
            ['true', 'running now'],
          ]}
        />
      </Filters>
      <List
        of={list}
        empty={
          <Empty title={active === 'true' ? 'Nothing is being retried' : 'No sessions here'}>
            Calls that failed at least once are recorded here. Those that succeed at once are only counted.
          </Empty>
        }
      >
        {(sessions) => (
          <Table
            label="Sessions"
            head={[
              'Operation',
              'Outcome',
              number('Attempts'),
              number('Took'),
              'Policy',
              'Last error',
              active === 'true' ? 'Started' : 'Ended',
            ]}
          >
            {sessions.map((session) => (
              <tr key={session.session_id}>
                <td>
                  <a href={address('/sessions', { id: session.session_id })}>{session.operation}</a>
                </td>
                <td>
                  <State
                    of={session.end_time == null ? 'running' : session.success ? 'succeeded' : 'failed'}
                  />
                  {session.stopped != null && session.stopped !== 'succeeded' && (
                    <div class="hint">{words(session.stopped)}</div>
                  )}
                </td>
                <td class="number">{session.total_attempts}</td>
                <td class="number">{duration(session.total_duration)}</td>
                <td>{session.policy_id}</td>
                <td class="long">{lastError(session) || <None />}</td>
                <td>
                  <Time at={session.end_time ?? session.start_time} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </List>
    </>
  )
}
