import { useSignal } from '@preact/signals'
import { fetchPages } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WirePolicy } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { NoValue, numericHead, PageHead, QueryView, StateLabel, Table } from '../../components/basics.js'
import { useEvents } from '../../events/event-stream.js'
import { formatDuration } from '../../format.js'
import { navigate, route, urlFor } from '../../route.js'
import { PolicyEditor } from './editor.js'

/** The page of policies. */
export function Policies() {
  const { id, fresh } = route.value.query
  return id === undefined ? (
    <PolicyList />
  ) : (
    <PolicyEditor key={`${id} ${fresh}`} id={id} fresh={fresh === 'true'} />
  )
}

async function loadPolicies(signal: AbortSignal): Promise<WirePolicy[]> {
  const all: WirePolicy[] = []
  for await (const page of fetchPages<WirePolicy>('/policies', {}, 'items', signal)) all.push(...page)
  return all
}

/** A duration without a line break between its number and its unit. */
const formatUnbroken = (seconds: number): string => formatDuration(seconds).replaceAll(' ', '\u00a0')

const formatWaits = ({ backoff_type, base_delay, max_delay }: WirePolicy): string =>
  backoff_type === 'immediate'
    ? 'immediate'
    : `${backoff_type}, ${formatUnbroken(base_delay)}${backoff_type === 'fixed' ? '' : ` to ${formatUnbroken(max_delay)}`}`

function formatDeadlines({ attempt_timeout, total_timeout }: WirePolicy): string | undefined {
  const parts = [
    ...(attempt_timeout == null ? [] : [`${formatUnbroken(attempt_timeout)} per attempt`]),
    ...(total_timeout == null ? [] : [`${formatUnbroken(total_timeout)} per call`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function NewPolicyForm() {
  const id = useSignal('')
  return (
    <form
      class="filters"
      aria-label="New policy"
      onSubmit={(submit) => {
        submit.preventDefault()
        if (id.value.trim() !== '') navigate(urlFor('/policies', { id: id.value.trim(), fresh: 'true' }))
      }}
    >
      <label>
        Id of the new policy
        <input
          type="text"
          required
          autocomplete="off"
          value={id.value}
          onInput={(input) => {
            id.value = input.currentTarget.value
          }}
        />
      </label>
      <button type="submit" class="small">
        Create
      </button>
    </form>
  )
}

function PolicyList() {
  const loaded = useQuery('policies', loadPolicies)
  useEvents((events) => {
    if (events.some(({ event_type }) => event_type === 'config_reloaded')) loaded.reload()
  })
  return (
    <>
      <PageHead title="Policies" />
      {hasRole('admin') && <NewPolicyForm />}
      <QueryView of={loaded}>
        {(policies) => (
          <Table
            label="Policies"
            head={['Id', 'Name', numericHead('Attempts'), 'Delays', 'Jitter', 'Timeouts', 'Breaker', 'State']}
          >
            {policies.map((policy) => (
              <tr key={policy.id}>
                <th scope="row">
                  <a href={urlFor('/policies', { id: policy.id })}>{policy.id}</a>
                </th>
                <td>{policy.name}</td>
                <td class="number">
                  {policy.max_attempts === 'Infinity' ? 'unlimited' : policy.max_attempts}
                </td>
                <td class="line-long">{formatWaits(policy)}</td>
                <td>{policy.jitter_type}</td>
                <td class="line-long">{formatDeadlines(policy) ?? <NoValue />}</td>
                <td>{policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'own' : <NoValue />)}</td>
                <td>
                  <StateLabel of={policy.enabled ? (policy.shadow ? 'shadow' : 'enabled') : 'disabled'} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </QueryView>
    </>
  )
}
