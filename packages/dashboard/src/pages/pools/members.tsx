import { useSignal } from '@preact/signals'
import { callApi } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireMember } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { EmptyState, Id, NoValue, Panel, StateLabel } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { type Column, DataTable } from '../../components/data-table.js'
import { ListView, useList } from '../../components/list.js'
import { useItemTitle } from '../../components/page-title.js'
import { toast } from '../../components/toast.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount, formatDuration, formatPercent } from '../../format.js'
import { urlFor } from '../../route.js'
import { AddMemberForm } from './add.js'

/** Whether a member gets no calls until it is enabled. */
const isExcluded = ({ status }: WireMember): boolean => status === 'drained' || status === 'disabled'

const sumOf = (members: readonly WireMember[], value: (member: WireMember) => number): string =>
  formatCount(members.reduce((sum, member) => sum + value(member), 0))

/** The columns of the members of a pool. */
const columnsFor = (pool: string): Column<WireMember>[] => [
  {
    key: 'member',
    title: 'Member',
    value: ({ id }) => id,
    cell: ({ id, url }) => (
      <>
        <Id
          value={id}
          label="member ID"
          href={urlFor('/breakers', { q: `pool:${encodeURIComponent(pool)}:${encodeURIComponent(id)}` })}
        />
        {url != null && <div class="hint">{url}</div>}
      </>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    value: ({ status }) => status,
    cell: ({ status }) => <StateLabel of={status} />,
  },
  {
    key: 'region',
    title: 'Region',
    value: ({ region }) => region,
    cell: ({ region }) => region ?? <NoValue />,
  },
  {
    key: 'success',
    title: 'Success rate',
    isNumeric: true,
    value: ({ success_rate }) => success_rate,
    cell: ({ success_rate }) => (success_rate == null ? <NoValue /> : formatPercent(success_rate)),
  },
  {
    key: 'latency',
    title: 'Latency',
    isNumeric: true,
    value: ({ total_attempts, avg_latency }) => (total_attempts === 0 ? null : avg_latency),
    cell: ({ total_attempts, avg_latency }) =>
      total_attempts === 0 ? <NoValue /> : formatDuration(avg_latency),
  },
  {
    key: 'score',
    title: 'Score',
    isNumeric: true,
    value: ({ score }) => score,
    cell: ({ score }) => (score == null ? <NoValue /> : score.toFixed(2)),
  },
  {
    key: 'attempts',
    title: 'Attempts',
    isNumeric: true,
    value: ({ total_attempts }) => total_attempts,
    cell: ({ total_attempts }) => formatCount(total_attempts),
    total: (members) => sumOf(members, ({ total_attempts }) => total_attempts),
  },
  {
    key: 'opened',
    title: 'Times opened',
    isNumeric: true,
    value: ({ circuit_breaker_opens }) => circuit_breaker_opens,
    cell: ({ circuit_breaker_opens }) => formatCount(circuit_breaker_opens),
    total: (members) => sumOf(members, ({ circuit_breaker_opens }) => circuit_breaker_opens),
  },
  { key: 'weight', title: 'Weight', isNumeric: true, value: ({ weight }) => weight },
]

/** The members of a pool with their status and statistics. */
export function MemberTable({ pool, onChange }: { pool: string; onChange: () => void }) {
  useItemTitle(pool)
  const path = `/pools/${encodeURIComponent(pool)}/members`
  const list = useList<WireMember>(path, {}, 5000)
  const isAdding = useSignal(false)
  const onChanged = (): void => {
    list.reload()
    onChange()
  }
  useEvents(
    (events) => {
      if (!events.some(({ component }) => component === 'pool')) return
      list.check()
      onChange()
    },
    [pool],
  )
  const memberPath = (id: string): string => `${path}/${encodeURIComponent(id)}`
  const drain = (id: string, shouldDrain: boolean): void =>
    confirm({
      title: shouldDrain ? `Drain ${id}?` : `Enable ${id}?`,
      text: shouldDrain
        ? 'The member gets no new attempts; running attempts continue.'
        : 'The member gets attempts again at once.',
      action: shouldDrain ? 'Drain' : 'Enable',
      async run(reason) {
        await callApi('PATCH', memberPath(id), {
          body: shouldDrain ? { draining: shouldDrain } : { enabled: true },
          reason,
        })
        toast(shouldDrain ? `${id} is draining.` : `${id} is enabled.`)
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
  const actions: Column<WireMember> = {
    key: 'actions',
    title: 'Actions',
    cell: (member) => (
      <span class="actions">
        <ActionButton
          type="button"
          class="small secondary"
          aria-label={`${isExcluded(member) ? 'Enable' : 'Drain'} ${member.id}`}
          onClick={() => drain(member.id, !isExcluded(member))}
        >
          {isExcluded(member) ? 'Enable' : 'Drain'}
        </ActionButton>
        <ActionButton
          type="button"
          class="small secondary"
          aria-label={`Remove ${member.id}`}
          onClick={() => remove(member.id)}
        >
          Remove
        </ActionButton>
      </span>
    ),
  }
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
          <DataTable
            label={`Members of ${pool}`}
            columns={[...columnsFor(pool), ...(isOperator ? [actions] : [])]}
            rows={members}
            keyOf={({ id }) => id}
            csv={`pool-${pool}`}
          />
        )}
      </ListView>
    </Panel>
  )
}
