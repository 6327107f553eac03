import type { ComponentChildren } from 'preact'
import { getJson } from '../../api/client.js'
import type {
  WireBreaker,
  WireDeadLetterStats,
  WireMetricsWindow,
  WirePage,
  WireSession,
  WireSummary,
} from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { clock } from '../../browser.js'
import { Bars, EmptyState, ErrorMessage, PageHead, Panel } from '../../components/basics.js'
import { formatCount, formatDuration, formatName, formatPercent, formatPlural } from '../../format.js'
import { LiveEvents } from './live.js'
import { Traffic } from './traffic.js'

const DAY_MS = 86_400_000

async function loadOverview(signal: AbortSignal) {
  const to = clock.wall()
  const range = { from: new Date(to - DAY_MS).toISOString(), to: new Date(to).toISOString() }
  const [counted, summary, letters, open, active] = await Promise.all([
    getJson<WireMetricsWindow>('/metrics/window', range, signal),
    getJson<WireSummary>('/metrics/retries', {}, signal),
    getJson<WireDeadLetterStats>('/dead-letters/stats', {}, signal),
    getJson<{ circuit_breakers: WireBreaker[]; cursor?: string }>(
      '/circuit-breakers',
      { state: 'open', limit: '1000' },
      signal,
    ),
    getJson<WirePage<WireSession>>('/sessions', { active: 'true', limit: '1000' }, signal),
  ])
  return { counted, summary, letters, open, active }
}

function Tile(props: { name: string; value: string; note: ComponentChildren; href?: string; tone?: string }) {
  return (
    <li class={`tile ${props.tone ?? ''}`}>
      <span class="tile-name">
        {props.href === undefined ? props.name : <a href={props.href}>{props.name}</a>}
      </span>
      <span class="tile-value">{props.value}</span>
      <span class="tile-note">{props.note}</span>
    </li>
  )
}

function Tiles({ data }: { data: Awaited<ReturnType<typeof loadOverview>> }) {
  const { counted, summary, letters, open, active } = data
  const recovered = Object.entries(summary.success_by_attempt).reduce(
    (total, [attempt, times]) => (attempt === '1' ? total : total + times),
    0,
  )
  const calls = counted.total_sessions
  const openLetters = letters.by_status.pending + letters.by_status.failed
  const opened = open.circuit_breakers.length
  return (
    <ul class="tiles">
      <Tile
        name="Calls"
        value={formatCount(calls)}
        note={
          calls === 0 ? 'in 24 h' : `in 24 h, ${formatPercent(counted.successful_sessions / calls)} succeeded`
        }
      />
      <Tile
        name="Retries"
        value={formatCount(summary.total_retries)}
        note={`in ${summary.retention_hours} h`}
      />
      <Tile
        name="Success after retry"
        value={formatCount(recovered)}
        note="calls that failed at first"
        tone={recovered > 0 ? 'good' : ''}
      />
      <Tile
        name="Dead letters"
        href="/dead-letters"
        value={formatCount(openLetters)}
        note={`${formatCount(letters.by_status.completed)} replayed`}
        tone={openLetters > 0 ? 'warn' : ''}
      />
      <Tile
        name="Open breakers"
        href="/breakers?state=open"
        value={`${formatCount(opened)}${open.cursor === undefined ? '' : '+'}`}
        note={opened === 0 ? 'no calls are rejected' : 'calls are rejected'}
        tone={opened > 0 ? 'bad' : ''}
      />
      <Tile
        name="Retrying now"
        href="/sessions?active=true"
        value={`${formatCount(active.items.length)}${active.cursor === undefined ? '' : '+'}`}
        note={`95 % of calls take at most ${formatDuration(counted.latency.p95)}`}
      />
    </ul>
  )
}

/** Placeholders with the size of the tiles, so that the layout does not shift when the numbers are loaded. */
const TilePlaceholders = () => (
  <ul class="tiles blank">
    {['Calls', 'Retries', 'Success after retry', 'Dead letters', 'Open breakers', 'Retrying now'].map(
      (name) => (
        <Tile key={name} name={name} value="–" note={'\u00a0'} />
      ),
    )}
  </ul>
)

/** The overview page. */
export function Overview() {
  const loaded = useQuery('overview', loadOverview, 5000)
  return (
    <>
      <PageHead title="Overview" />
      {loaded.error !== undefined && <ErrorMessage error={loaded.error} />}
      {loaded.data === undefined ? <TilePlaceholders /> : <Tiles data={loaded.data} />}
      <div class="panels">
        <Traffic />
        <Distribution data={loaded.data} />
        <LiveEvents />
      </div>
    </>
  )
}

/** How many kinds have a bar of their own. */
const MAX_KINDS = 7

/** The counts by kind, highest first. Rare kinds are added up as `other`, so that the bars are all failed attempts. */
function topKinds(counts: Readonly<Record<string, number>>): [kind: string, count: number][] {
  const sorted = Object.entries(counts).toSorted((a, b) => b[1] - a[1])
  if (sorted.length <= MAX_KINDS + 1) return sorted
  return [...sorted.slice(0, MAX_KINDS), ['other', sumOf(sorted.slice(MAX_KINDS))]]
}

const sumOf = (counts: readonly (readonly [string, number])[]): number =>
  counts.reduce((sum, [, count]) => sum + count, 0)

function Distribution({ data }: { data: Awaited<ReturnType<typeof loadOverview>> | undefined }) {
  const attempts = Object.entries(data?.summary.success_by_attempt ?? {}).filter(([, times]) => times > 0)
  const kinds = topKinds(data?.counted.failure_by_reason ?? {})
  const failedCalls = data?.counted.failed_sessions ?? 0
  return (
    <>
      <Panel title="Success by attempt" class="spread">
        {data === undefined ? null : attempts.length === 0 ? (
          <EmptyState title="No successful calls yet" />
        ) : (
          <Bars
            label="Calls by successful attempt"
            values={attempts.map(([attempt, times]) => [`Attempt ${attempt}`, times])}
            show={formatCount}
          />
        )}
      </Panel>
      <Panel title="Failed attempts by kind" class="spread">
        {data === undefined ? null : kinds.length === 0 ? (
          <EmptyState title="No failures in 24 h" />
        ) : (
          <>
            <Bars
              label="Failed attempts by kind"
              values={kinds.map(([kind, times]) => [formatName(kind), times])}
              show={formatCount}
            />
            <p class="hint">
              Total:{' '}
              {formatPlural(
                sumOf(kinds),
                'failed attempt or rejected call',
                'failed attempts and rejected calls',
              )}{' '}
              in 24 h. A call can have several: {formatPlural(failedCalls, 'call', 'calls')} failed in the
              end.
            </p>
          </>
        )}
      </Panel>
    </>
  )
}
