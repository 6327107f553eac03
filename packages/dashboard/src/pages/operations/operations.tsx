import '../../style/operations.css'
import { MINUTE_MS } from '@holdfast/records/constants'
import { getJson } from '../../api/client.js'
import type { WireOperations } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import { EmptyState, PageHead, Panel, QueryView } from '../../components/basics.js'
import { type Column, DataTable } from '../../components/data-table.js'
import { Filters, TextFilter } from '../../components/filters.js'
import { formatCount, formatDuration, formatPercent, truncateMiddle } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { timeRange } from '../../time-range.js'
import { type BreakerStates, loadBreakerStates, OperationBreakers } from './breaker-states.js'
import { OperationPage } from './operation.js'
import { lastDay, type SeriesPoint, selectedSpan, toPoints } from './series.js'
import { Sparkline } from './sparkline.js'

type WireOperation = WireOperations['operations'][number]

interface OperationRow extends WireOperation {
  readonly points: readonly SeriesPoint[]
}

const REFRESH_MS = 10_000

/** The number of bars of a sparkline. */
const SPARKLINE_STEPS = 24

const successRate = ({ calls, successes }: Pick<WireOperation, 'calls' | 'successes'>): number | undefined =>
  calls === 0 ? undefined : successes / calls

async function loadOperations(signal: AbortSignal) {
  const now = clock.wall()
  const span = selectedSpan(timeRange.peek(), now) ?? lastDay(now)
  const step = Math.max(1, Math.ceil((span.to - span.from) / SPARKLINE_STEPS / MINUTE_MS)) * MINUTE_MS
  const [metrics, states] = await Promise.all([
    getJson<WireOperations>(
      '/metrics/operations',
      {
        from: new Date(span.from).toISOString(),
        to: new Date(span.to).toISOString(),
        step: String(step / 1000),
      },
      signal,
    ),
    loadBreakerStates(signal),
  ])
  const rows = metrics.operations.map(
    (operation): OperationRow => ({
      ...operation,
      points: toPoints(span, operation.data_points, step),
    }),
  )
  return { rows, total: metrics.total, states }
}

const sumOf = (
  rows: readonly OperationRow[],
  key: 'calls' | 'successes' | 'failures' | 'retries' | 'rejections',
) => rows.reduce((sum, row) => sum + row[key], 0)

/** The failed calls of an operation, as a link to their sessions. */
const FailedLink = ({ operation, failures }: WireOperation) =>
  failures === 0 || operation === 'other' ? (
    formatCount(failures)
  ) : (
    <a href={urlFor('/sessions', { operation, success: 'false' })}>{formatCount(failures)}</a>
  )

const percentileColumn = (
  key: 'p50' | 'p95' | 'p99',
  total: WireOperations['total'],
): Column<OperationRow> => ({
  key,
  title: key,
  isNumeric: true,
  value: ({ latency, calls, rejections }) => (calls > rejections ? latency[key] : undefined),
  cell: ({ latency, calls, rejections }) => (calls > rejections ? formatDuration(latency[key]) : '–'),
  total: () => (total.calls > total.rejections ? formatDuration(total.latency[key]) : '–'),
})

const countColumn = (key: 'calls' | 'retries' | 'rejections', title: string): Column<OperationRow> => ({
  key,
  title,
  isNumeric: true,
  value: (row) => row[key],
  cell: (row) => formatCount(row[key]),
  total: (rows) => formatCount(sumOf(rows, key)),
})

const columnsFor = (states: BreakerStates, total: WireOperations['total']): Column<OperationRow>[] => [
  {
    key: 'operation',
    title: 'Operation',
    value: ({ operation }) => operation,
    cell: ({ operation }) => (
      <a href={urlFor('/operations', { id: operation })} title={operation}>
        {truncateMiddle(operation, 36)}
      </a>
    ),
  },
  { key: 'trend', title: 'Trend', cell: ({ points }) => <Sparkline points={points} /> },
  countColumn('calls', 'Calls'),
  {
    key: 'success_rate',
    title: 'Success rate',
    isNumeric: true,
    value: successRate,
    cell: (row) => {
      const rate = successRate(row)
      return rate === undefined ? '–' : formatPercent(rate)
    },
    total: (rows) => {
      const rate = successRate({ calls: sumOf(rows, 'calls'), successes: sumOf(rows, 'successes') })
      return rate === undefined ? '–' : formatPercent(rate)
    },
  },
  {
    key: 'failures',
    title: 'Failed',
    isNumeric: true,
    value: ({ failures }) => failures,
    cell: FailedLink,
    total: (rows) => formatCount(sumOf(rows, 'failures')),
  },
  percentileColumn('p50', total),
  percentileColumn('p95', total),
  percentileColumn('p99', total),
  countColumn('retries', 'Retries'),
  countColumn('rejections', 'Rejected'),
  {
    key: 'breakers',
    title: 'Breaker',
    value: ({ breakers }) => breakers.join(' '),
    cell: ({ breakers }) => <OperationBreakers breakers={breakers} states={states} />,
  },
]

function OperationList() {
  const { q = '' } = route.value.query
  const loaded = useQuery(`operations ${JSON.stringify(timeRange.value)}`, loadOperations, REFRESH_MS)
  return (
    <>
      <PageHead title="Operations" />
      <Filters label="Filter operations">
        <TextFilter name="q" label="Filter by name" placeholder="part of a name" />
      </Filters>
      <Panel
        title={timeRange.value.kind === 'all' ? 'Operations of the last 24 h' : 'Operations'}
        class="wide"
      >
        <QueryView of={loaded}>
          {({ rows, total, states }) => {
            const shown = rows.filter(({ operation }) =>
              operation.toLowerCase().includes(q.trim().toLowerCase()),
            )
            if (shown.length === 0)
              return (
                <EmptyState
                  title={rows.length === 0 ? 'No calls in this time range' : 'No matching operations'}
                >
                  Each operation that a process runs with <code>hf.run(operation, fn)</code> is listed here.
                </EmptyState>
              )
            return (
              <DataTable
                label="Operations"
                columns={columnsFor(states, total)}
                rows={shown}
                keyOf={({ operation }) => operation}
                defaultSort="-failures"
                csv="operations"
              />
            )
          }}
        </QueryView>
        <p class="hint">
          Success rate and latency are of calls with all their attempts and delays. Rejected calls are failed
          calls without an attempt; they are not part of the latency.
        </p>
      </Panel>
    </>
  )
}

/** The page of operations, or of one operation. */
export function Operations() {
  const { id } = route.value.query
  return id === undefined ? <OperationList /> : <OperationPage key={id} operation={id} />
}
