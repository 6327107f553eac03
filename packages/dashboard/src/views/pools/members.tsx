import { useSignal } from '@preact/signals'
import { call } from '../../api/call.js'
import { may } from '../../api/role.js'
import type { Member } from '../../api/types.js'
import { useEvents } from '../../feed/feed.js'
import { count, duration, percent } from '../../format.js'
import { ask } from '../../parts/ask.js'
import { Empty, None, number, Panel, State, Table } from '../../parts/basics.js'
import { List, useList } from '../../parts/list.js'
import { say } from '../../parts/notice.js'
import { address } from '../../route.js'
import { Add } from './add.js'

/** Whether a member gets no calls until it is enabled. */
const isOut = ({ status }: Member): boolean => status === 'drained' || status === 'disabled'

/** The members of a pool, and how each does. */
export function Members({ pool, onChange }: { pool: string; onChange: () => void }) {
  const path = `/pools/${encodeURIComponent(pool)}/members`
  const list = useList<Member>(path, {}, 5000)
  const adding = useSignal(false)
  const changed = (): void => {
    list.reload()
    onChange()
  }
  useEvents(
    (events) => {
      if (events.some(({ component }) => component === 'pool')) changed()
    },
    [pool],
  )
  const at = (id: string): string => `${path}/${encodeURIComponent(id)}`
  const drain = (id: string, draining: boolean): void =>
    ask({
      title: draining ? `Drain ${id}?` : `Use ${id} again?`,
      text: draining
        ? 'It gets no new attempts; those that run end as they will.'
        : 'It gets attempts again at once.',
      action: draining ? 'Drain' : 'Enable',
      async run(reason) {
        await call('PATCH', at(id), { body: draining ? { draining } : { enabled: true }, reason })
        say(draining ? `${id} is drained.` : `${id} is in use again.`)
        changed()
      },
    })
  const remove = (id: string): void =>
    ask({
      title: `Remove ${id} from ${pool}?`,
      text: 'It gets no more attempts; those that run end as they will.',
      action: 'Remove',
      danger: true,
      async run(reason) {
        await call('DELETE', at(id), { reason })
        say(`${id} is removed.`)
        changed()
      },
    })
  const operator = may('operator')
  return (
    <Panel
      title={`Members of ${pool}`}
      actions={
        operator && (
          <button
            type="button"
            class="small secondary"
            aria-expanded={adding.value}
            onClick={() => {
              adding.value = !adding.value
            }}
          >
            Add a member
          </button>
        )
      }
    >
      {operator && adding.value && <Add pool={pool} onAdded={changed} />}
      <List of={list} empty={<Empty title="This pool is empty">Add a member above.</Empty>}>
        {(members) => (
          <Table
            label={`Members of ${pool}`}
            head={[
              'Member',
              'Status',
              'Region',
              number('Success'),
              number('Latency'),
              number('Score'),
              number('Attempts'),
              number('Openings'),
              number('Weight'),
              ...(operator ? ['Actions'] : []),
            ]}
          >
            {members.map((member) => (
              <tr key={member.id}>
                <th scope="row">
                  <a
                    href={address('/breakers', {
                      q: `pool:${encodeURIComponent(pool)}:${encodeURIComponent(member.id)}`,
                    })}
                  >
                    {member.id}
                  </a>
                  {member.url != null && <div class="hint">{member.url}</div>}
                </th>
                <td>
                  <State of={member.status} />
                </td>
                <td>{member.region ?? <None />}</td>
                <td class="number">
                  {member.success_rate == null ? <None /> : percent(member.success_rate)}
                </td>
                <td class="number">
                  {member.total_attempts === 0 ? <None /> : duration(member.avg_latency)}
                </td>
                <td class="number">{member.score == null ? <None /> : member.score.toFixed(2)}</td>
                <td class="number">{count(member.total_attempts)}</td>
                <td class="number">{count(member.circuit_breaker_opens)}</td>
                <td class="number">{member.weight}</td>
                {operator && (
                  <td>
                    <span class="actions">
                      <button
                        type="button"
                        class="small secondary"
                        aria-label={`${isOut(member) ? 'Enable' : 'Drain'} ${member.id}`}
                        onClick={() => drain(member.id, !isOut(member))}
                      >
                        {isOut(member) ? 'Enable' : 'Drain'}
                      </button>
                      <button
                        type="button"
                        class="small secondary"
                        aria-label={`Remove ${member.id}`}
                        onClick={() => remove(member.id)}
                      >
                        Remove
                      </button>
                    </span>
                  </td>
                )}
              </tr>
            ))}
          </Table>
        )}
      </List>
    </Panel>
  )
}
