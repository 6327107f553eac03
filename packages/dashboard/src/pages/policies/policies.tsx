import { hasRole } from '../../api/role.js'
import type { WirePolicy } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { NoValue, PageHead, QueryView, StateLabel } from '../../components/basics.js'
import { type Column, DataTable } from '../../components/data-table.js'
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

/** A text for the CSV file, where a line cannot break. */
const toPlainSpaces = <T extends string | undefined>(text: T) => text?.replaceAll('\u00a0', ' ')

const formatBreaker = ({ circuit_breaker, enable_circuit_breaker }: WirePolicy): string | undefined =>
  circuit_breaker ?? (enable_circuit_breaker ? 'dedicated' : undefined)

const stateOf = ({ enabled, shadow }: WirePolicy) => (enabled ? (shadow ? 'shadow' : 'enabled') : 'disabled')

const COLUMNS: readonly Column<WirePolicy>[] = [
  {
    key: 'id',
    title: 'Policy ID',
    value: ({ id }) => id,
    cell: ({ id }) => <a href={urlFor('/policies', { id })}>{id}</a>,
  },
  { key: 'name', title: 'Name', value: ({ name }) => name },
  {
    key: 'max_attempts',
    title: 'Max attempts',
    isNumeric: true,
    value: ({ max_attempts }) => (max_attempts === 'Infinity' ? Number.POSITIVE_INFINITY : max_attempts),
    cell: ({ max_attempts }) => (max_attempts === 'Infinity' ? 'unlimited' : max_attempts),
  },
  {
    key: 'delays',
    title: 'Delays',
    value: (policy) => toPlainSpaces(formatWaits(policy)),
    cell: (policy) => <span class="line-long">{formatWaits(policy)}</span>,
  },
  { key: 'jitter', title: 'Jitter', value: ({ jitter_type }) => jitter_type },
  {
    key: 'timeouts',
    title: 'Timeouts',
    value: (policy) => toPlainSpaces(formatDeadlines(policy)),
    cell: (policy) => <span class="line-long">{formatDeadlines(policy) ?? <NoValue />}</span>,
  },
  {
    key: 'breaker',
    title: 'Breaker',
    value: formatBreaker,
    cell: (policy) => formatBreaker(policy) ?? <NoValue />,
  },
  {
    key: 'state',
    title: 'State',
    value: stateOf,
    cell: (policy) => <StateLabel of={stateOf(policy)} />,
  },
]

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
          <DataTable
            label="Policies"
            columns={COLUMNS}
            rows={policies}
            keyOf={({ id }) => id}
            csv="policies"
          />
        )}
      </QueryView>
    </>
  )
}
