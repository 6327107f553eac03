import { hasRole } from '../../api/role.js'
import type { WirePolicy } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { NoValue, numericHead, PageHead, QueryView, StateLabel, Table } from '../../components/basics.js'
import { useEvents } from '../../events/event-stream.js'
import { formatDuration } from '../../format.js'
import { navigate, route, urlFor } from '../../route.js'
import { NewPolicyEditor, PolicyEditor } from './editor.js'
import { loadPolicies } from './load.js'

/** The page of policies. */
export function Policies() {
  const { id, fresh, source } = route.value.query
  if (fresh === 'true')
    return <NewPolicyEditor key={`new ${source}`} id={id ?? ''} {...(source !== undefined && { source })} />
  return id === undefined ? <PolicyList /> : <PolicyEditor key={id} id={id} />
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
    ...(total_timeout == null ? [] : [`${formatUnbroken(total_timeout)} total`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function PolicyList() {
  const loaded = useQuery('policies', loadPolicies)
  useEvents((events) => {
    if (events.some(({ event_type }) => event_type === 'config_reloaded')) loaded.reload()
  })
  return (
    <>
      <PageHead title="Policies">
        {hasRole('admin') && (
          <button type="button" onClick={() => navigate(urlFor('/policies', { fresh: 'true' }))}>
            Create policy
          </button>
        )}
      </PageHead>
      <QueryView of={loaded}>
        {(policies) => (
          <Table
            label="Policies"
            head={[
              'Policy ID',
              'Name',
              numericHead('Max attempts'),
              'Delays',
              'Jitter',
              'Timeouts',
              'Breaker',
              'State',
            ]}
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
                <td>
                  {policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'dedicated' : <NoValue />)}
                </td>
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
