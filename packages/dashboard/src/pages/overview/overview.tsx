import '../../style/operations.css'
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
import { Bars, EmptyState, ErrorMessage, PageHead, Panel } from '../../components/basics.js'
import { formatCount, formatDuration, formatName, formatPercent, formatPlural } from '../../format.js'
import { urlFor } from '../../route.js'
import { timeRange } from '../../time-range.js'
import { Tile } from '../operations/tile.js'
import { type MarkedTraffic, TrafficPanel } from '../operations/traffic-panel.js'
import { useTraffic } from '../operations/use-traffic.js'
import { LiveEvents } from './live.js'

const REFRESH_MS = 5000

/** Loads the numbers that do not depend on the time range. */
async function loadCurrent(signal: AbortSignal) {
  const [summary, letters, open, active] = await Promise.all([
    getJson<WireSummary>('/metrics/retries', {}, signal),
    getJson<WireDeadLetterStats>('/dead-letters/stats', {}, signal),
    getJson<{ circuit_breakers: WireBreaker[]; cursor?: string }>(
      '/circuit-breakers',
      { state: 'open', limit: '1000' },
      signal,
    ),
    getJson<WirePage<WireSession>>('/sessions', { active: 'true', limit: '1000' }, signal),
  ])
  return { summary, letters, open, active }
}
type CurrentNumbers = Awaited<ReturnType<typeof loadCurrent>>

/** The names of the tiles, in their order. */
const TILE_NAMES = [
  'Calls',
  'Failed calls',
  'Latency p95',
  'Retries',
  'Success after retry',
  'Dead letters',
  'Open breakers',
  'Retrying now',
]

function Tiles({ current, traffic }: { current: CurrentNumbers; traffic: MarkedTraffic }) {
  const { summary, letters, open, active } = current
  const { calls, successes, failures, retries, rejections, latency } = traffic.metrics.total
  const recovered = Object.entries(summary.success_by_attempt).reduce(
    (total, [attempt, times]) => (attempt === '1' ? total : total + times),
    0,
  )
  const openLetters = letters.by_status.pending + letters.by_status.failed
  const opened = open.circuit_breakers.length
  const range = `in ${formatDuration(Math.round((traffic.span.to - traffic.span.from) / 1000))}`
  return (
    <ul class="tiles eight">
      <Tile
        name="Calls"
        href={urlFor('/operations', { sort: '-calls' })}
        value={formatCount(calls)}
        note={calls === 0 ? range : `${range}, ${formatPercent(successes / calls)} succeeded`}
      />
      <Tile
        name="Failed calls"
        href={urlFor('/operations', { sort: '-failures' })}
        value={formatCount(failures)}
        note={`${range}, ${formatCount(rejections)} of them rejected`}
        tone={failures > 0 ? 'bad' : ''}
      />
      <Tile
        name="Latency p95"
        href={urlFor('/operations', { sort: '-p95' })}
        value={calls > rejections ? formatDuration(latency.p95) : '–'}
        note="95 % of calls end within this time"
      />
      <Tile
        name="Retries"
        href={urlFor('/operations', { sort: '-retries' })}
        value={formatCount(retries)}
        note={range}
      />
      <Tile
        name="Success after retry"
        href={urlFor('/sessions', { success: 'true' })}
        value={formatCount(recovered)}
        note={`calls that failed at first, in ${summary.retention_hours} h`}
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
        note="calls that wait for their next attempt"
      />
    </ul>
  )
}

/** Placeholders with the size of the tiles, so that the layout does not shift when the numbers are loaded. */
const TilePlaceholders = () => (
  <ul class="tiles eight blank">
    {TILE_NAMES.map((name) => (
      <Tile key={name} name={name} value="–" note={'\u00a0'} />
    ))}
  </ul>
)

/** The overview page. */
export function Overview() {
  const current = useQuery('overview', loadCurrent, REFRESH_MS)
  const traffic = useTraffic()
  return (
    <>
      <PageHead title="Overview" />
      {current.error !== undefined && <ErrorMessage error={current.error} />}
      {current.data === undefined || traffic.data === undefined ? (
        <TilePlaceholders />
      ) : (
        <Tiles current={current.data} traffic={traffic.data} />
      )}
      <div class="panels">
        <TrafficPanel of={traffic} title="Calls over time" />
        <SuccessByAttempt summary={current.data?.summary} />
        <FailuresByKind traffic={traffic.data} />
        <LiveEvents />
      </div>
    </>
  )
}

function SuccessByAttempt({ summary }: { summary: WireSummary | undefined }) {
  const attempts = Object.entries(summary?.success_by_attempt ?? {}).filter(([, times]) => times > 0)
  return (
    <Panel title="Success by attempt" class="spread">
      {summary === undefined ? null : attempts.length === 0 ? (
        <EmptyState title="No successful calls yet" />
      ) : (
        <>
          <Bars
            label="Calls by successful attempt"
            values={attempts.map(([attempt, times]) => [`Attempt ${attempt}`, times])}
            show={formatCount}
          />
          <p class="hint">All calls of the last {summary.retention_hours} h.</p>
        </>
      )}
    </Panel>
  )
}

/** How many kinds have a bar of their own. */
const MAX_KINDS = 7

const sumOf = (counts: readonly (readonly [string, number])[]): number =>
  counts.reduce((sum, [, count]) => sum + count, 0)

/** The counts by kind, highest first. Rare kinds are added up as `other`, so that the bars are all failed attempts. */
function topKinds(counts: Readonly<Record<string, number>>): [kind: string, count: number][] {
  const sorted = Object.entries(counts).toSorted((a, b) => b[1] - a[1])
  if (sorted.length <= MAX_KINDS + 1) return sorted
  return [...sorted.slice(0, MAX_KINDS), ['other', sumOf(sorted.slice(MAX_KINDS))]]
}

function FailuresByKind({ traffic }: { traffic: MarkedTraffic | undefined }) {
  const { time_window_start: from, time_window_end: to } = traffic?.metrics ?? {}
  const loaded = useQuery(
    // The window moves on with the time; only another range starts without data.
    `kinds ${JSON.stringify(timeRange.value)} ${traffic === undefined}`,
    async (signal) =>
      from === undefined ? undefined : getJson<WireMetricsWindow>('/metrics/window', { from, to }, signal),
    REFRESH_MS,
  )
  const kinds = topKinds(loaded.data?.failure_by_reason ?? {})
  return (
    <Panel title="Failed attempts by kind" class="spread">
      {loaded.data === undefined ? null : kinds.length === 0 ? (
        <EmptyState title="No failed attempts in this time range" />
      ) : (
        <>
          <ul class="bars" aria-label="Failed attempts by kind">
            {kinds.map(([kind, times]) => (
              <li key={kind}>
                <span class="bar-name">
                  {kind === 'other' ? kind : <a href={urlFor('/errors', { kind })}>{formatName(kind)}</a>}
                </span>
                <span class="bar-value">{formatCount(times)}</span>
                <span class="bar" aria-hidden="true">
                  <span style={{ width: `${(times / (kinds[0]?.[1] ?? 1)) * 100}%` }} />
                </span>
              </li>
            ))}
          </ul>
          <p class="hint">
            Total:{' '}
            <a href="/errors">
              {formatPlural(
                sumOf(kinds),
                'failed attempt or rejected call',
                'failed attempts and rejected calls',
              )}
            </a>
            . A call can have several: {formatPlural(loaded.data.failed_sessions, 'call', 'calls')} failed in
            the end.
          </p>
        </>
      )}
    </Panel>
  )
}
