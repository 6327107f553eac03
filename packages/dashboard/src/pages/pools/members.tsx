import { useSignal } from '@preact/signals'
import { callApi } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireMember } from '../../api/types.js'
import { EmptyState, NoValue, numericHead, Panel, StateLabel, Table } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { ListView, useList } from '../../components/list.js'
import { toast } from '../../components/toast.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount, formatDuration, formatPercent } from '../../format.js'
import { urlFor } from '../../route.js'
import { AddMemberForm } from './add.js'

/** Whether a member gets no calls until it is enabled. */
const isExcluded = ({ status }: WireMember): boolean => status === 'drained' || status === 'disabled'

/** The members of a pool with their status and statistics. */
export function MemberTable({ pool, onChange }: { pool: string; onChange: () => void }) {
  const path = `/pools/${encodeURIComponent(pool)}/members`
  const list = useList<WireMember>(path, {}, 5000)
  const isAdding = useSignal(false)
  const onChanged = (): void => {
    list.reload()
    onChange()
  }
  useEvents(
    (events) => {
      if (events.some(({ component }) => component === 'pool')) onChanged()
    },
    [pool],
  )
  const memberPath = (id: string): string => `${path}/${encodeURIComponent(id)}`
  const drain = (id: string, draining: boolean): void =>
    confirm({
      title: draining ? `Drain ${id}?` : `Enable ${id}?`,
      text: draining
        ? 'The member gets no new attempts; running attempts continue.'
        : 'The member gets attempts again at once.',
      action: draining ? 'Drain' : 'Enable',
      async run(reason) {
        await callApi('PATCH', memberPath(id), { body: draining ? { draining } : { enabled: true }, reason })
        toast(draining ? `${id} is draining.` : `${id} is enabled.`)
        onChanged()
      },
    })
  const remove = (id: string): void =>
    confirm({
      title: `Remove ${id} from ${pool}?`,
      text: 'The member gets no new attempts; running attempts continue.',
      action: 'Remove',
      isDangerous: true,
      async run(reason) {
        await callApi('DELETE', memberPath(id), { reason })
        toast(`${id} was removed.`)
        onChanged()
      },
    })
  const isOperator = hasRole('operator')
  return (
    <Panel
      title={`Members of ${pool}`}
      actions={
        isOperator && (
          <button
            type="button"
            class="small secondary"
            aria-expanded={isAdding.value}
            onClick={() => {
              isAdding.value = !isAdding.value
            }}
          >
            Add a member
          </button>
        )
      }
    >
      {isOperator && isAdding.value && <AddMemberForm pool={pool} onAdded={onChanged} />}
      <ListView of={list} empty={<EmptyState title="This pool is empty">Add a member above.</EmptyState>}>
        {(members) => (
          <Table
            label={`Members of ${pool}`}
            head={[
              'Member',
              'Status',
              'Region',
              numericHead('Success'),
              numericHead('Latency'),
              numericHead('Score'),
              numericHead('Attempts'),
              numericHead('Openings'),
              numericHead('Weight'),
              ...(isOperator ? ['Actions'] : []),
            ]}
          >
            {members.map((member) => (
              <tr key={member.id}>
                <th scope="row">
                  <a
                    href={urlFor('/breakers', {
                      q: `pool:${encodeURIComponent(pool)}:${encodeURIComponent(member.id)}`,
                    })}
                  >
                    {member.id}
                  </a>
                  {member.url != null && <div class="hint">{member.url}</div>}
                </th>
                <td>
                  <StateLabel of={member.status} />
                </td>
                <td>{member.region ?? <NoValue />}</td>
                <td class="number">
                  {member.success_rate == null ? <NoValue /> : formatPercent(member.success_rate)}
                </td>
                <td class="number">
                  {member.total_attempts === 0 ? <NoValue /> : formatDuration(member.avg_latency)}
                </td>
                <td class="number">{member.score == null ? <NoValue /> : member.score.toFixed(2)}</td>
                <td class="number">{formatCount(member.total_attempts)}</td>
                <td class="number">{formatCount(member.circuit_breaker_opens)}</td>
                <td class="number">{member.weight}</td>
                {isOperator && (
                  <td>
                    <span class="actions">
                      <button
                        type="button"
                        class="small secondary"
                        aria-label={`${isExcluded(member) ? 'Enable' : 'Drain'} ${member.id}`}
                        onClick={() => drain(member.id, !isExcluded(member))}
                      >
                        {isExcluded(member) ? 'Enable' : 'Drain'}
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
      </ListView>
    </Panel>
  )
}
