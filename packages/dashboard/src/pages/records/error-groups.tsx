import { getJson } from '../../api/client.js'
import type { WireErrorGroup, WireErrorGroups } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, QueryView, Time } from '../../components/basics.js'
import { type Column, DataTable } from '../../components/data-table.js'
import { Trend } from '../../components/trend.js'
import { formatCount, formatName, formatPercent, formatPlural } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { rangeFilter } from '../../time-range.js'

/** How often the groups are loaded again. */
const REFRESH_MS = 10_000

/** How many groups are loaded. */
const MAX_GROUPS = '200'

const sumOf = (groups: readonly WireErrorGroup[]): number => groups.reduce((sum, { count }) => sum + count, 0)

const COLUMNS: readonly Column<WireErrorGroup>[] = [
  { key: 'kind', title: 'Kind', value: ({ kind }) => kind, cell: ({ kind }) => formatName(kind) },
  {
    key: 'operation',
    title: 'Operation',
    value: ({ operation }) => operation,
    cell: ({ operation }) =>
      operation === '' ? 'none' : <a href={urlFor('/operations', { id: operation })}>{operation}</a>,
  },
  {
    key: 'message',
    title: 'Message',
    value: ({ error_type, message }) => `${error_type}: ${message}`,
    cell: ({ group_id, error_type, message }) => (
      <a class="long" href={urlFor('/errors', { group: group_id })}>
        {error_type}: {message}
      </a>
    ),
  },
  {
    key: 'count',
    title: 'Errors',
    isNumeric: true,
    value: ({ count }) => count,
    cell: ({ count }) => formatCount(count),
    total: (rows) => formatCount(sumOf(rows)),
  },
  { key: 'trend', title: 'Trend', cell: ({ trend }) => <Trend counts={trend} /> },
  {
    key: 'first_seen',
    title: 'First seen',
    value: ({ first_seen }) => first_seen,
    cell: ({ first_seen }) => <Time at={first_seen} />,
  },
  {
    key: 'last_seen',
    title: 'Last seen',
    value: ({ last_seen }) => last_seen,
    cell: ({ last_seen }) => <Time at={last_seen} />,
  },
  {
    key: 'session_id',
    title: 'Last',
    value: ({ session_id }) => session_id,
    cell: ({ session_id }) =>
      session_id !== undefined && (
        <a href={urlFor('/sessions', { id: session_id })} title={session_id}>
          Session
        </a>
      ),
  },
]

/** The numbers of errors by kind, as links that select one kind. */
function KindSummary({
  groups,
  selected,
}: {
  groups: readonly WireErrorGroup[]
  selected: string | undefined
}) {
  const counts = new Map<string, number>()
  for (const { kind, count } of groups) counts.set(kind, (counts.get(kind) ?? 0) + count)
  const total = sumOf(groups)
  const { severity, category, operation } = route.value.query
  return (
    <ul class="kinds" aria-label="Errors by kind">
      {[...counts]
        .toSorted(([, a], [, b]) => b - a)
        .map(([kind, count]) => (
          <li key={kind}>
            <a href={urlFor('/errors', { severity, category, operation, kind })}>
              {formatName(kind)} {formatCount(count)}
            </a>{' '}
            <span class="hint">{formatPercent(count / total)}</span>
          </li>
        ))}
      {selected !== undefined && (
        <li>
          <a href={urlFor('/errors', { severity, category, operation })}>All kinds</a>
        </li>
      )}
    </ul>
  )
}

/** Errors grouped by kind, message and operation. */
export function ErrorGroupList() {
  const { severity, category, operation, kind } = route.value.query
  const query = { severity, category, operation, kind, ...rangeFilter.value, limit: MAX_GROUPS }
  const loaded = useQuery(
    `groups ${JSON.stringify(query)}`,
    (signal) => getJson<WireErrorGroups>('/errors/groups', query, signal),
    REFRESH_MS,
  )
  return (
    <QueryView of={loaded}>
      {({ items, from, to, complete, scanned }) => (
        <>
          <p class="hint">
            {formatPlural(sumOf(items), 'error', 'errors')} from <Time at={from} /> to <Time at={to} />. An
            error is a failed attempt, or a breaker that opened.
            {!complete && ` Only the newest ${formatCount(scanned)} errors are counted.`}
          </p>
          {items.length === 0 ? (
            <EmptyState title="No errors in this time range" />
          ) : (
            <>
              <KindSummary groups={items} selected={kind} />
              <DataTable
                label="Error groups"
                columns={COLUMNS}
                rows={items}
                keyOf={({ group_id }) => group_id}
                defaultSort="-count"
                csv="error-groups"
              />
            </>
          )}
        </>
      )}
    </QueryView>
  )
}
