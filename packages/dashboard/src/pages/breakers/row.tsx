import { callApi } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireBreaker, WireBreakerChange } from '../../api/types.js'
import { StateLabel, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { formatCount, formatDuration, formatExactTime, formatPlural } from '../../format.js'
import { now } from '../../now.js'
import { knownFrom } from './changes.js'
import { summarizeSegments, timelineSegments } from './state-timeline.js'
import { replaceBreakers } from './store.js'

/** How much of the past a strip shows (ms). */
const TIMELINE_MS = 15 * 60_000

interface BreakerRowProps {
  readonly breaker: WireBreaker
  /** Newest first. */
  readonly changes: readonly WireBreakerChange[]
  /** From when on all changes are known. */
  readonly since: number
  /** When the oldest process that tells of breakers began. */
  readonly begun: number
}

/** The last minutes of a breaker, as a strip. */
function StateTimeline({ breaker, changes, since, begun }: BreakerRowProps) {
  // To the quarter of a minute: a strip is the same for a while.
  const to = Math.ceil(now.value / 15_000) * 15_000
  const known = knownFrom(breaker, changes, since, begun)
  const segments = timelineSegments(breaker.state, changes, to - TIMELINE_MS, to, known)
  const title = `Last 15 min: ${summarizeSegments(segments)}`
  return (
    <svg class="strip" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={title}>
      <title>{title}</title>
      {segments.map(({ state, from, to: end }) => (
        <rect
          class={state}
          x={from * 100}
          width={Math.max(0.8, (end - from) * 100)}
          y={state === 'closed' ? 6 : state === 'open' ? 0 : 3}
          height={state === 'closed' ? 4 : state === 'open' ? 10 : 7}
        />
      ))}
    </svg>
  )
}

/** When an open breaker lets a test through. */
function NextTest({ breaker: { state, next_test_time, last_state_change } }: { breaker: WireBreaker }) {
  if (state === 'open' && next_test_time != null) {
    const left = (Date.parse(next_test_time) - now.value) / 1000
    return (
      <span title={formatExactTime(Date.parse(next_test_time))}>
        {left > 0 ? `test in ${formatDuration(Math.ceil(left))}` : 'test at the next call'}
      </span>
    )
  }
  return (
    <span>
      {state === 'half_open' && 'testing, '}changed <Time at={last_state_change} />
    </span>
  )
}

function confirmAction(id: string, action: 'reset' | 'trip'): void {
  const reset = action === 'reset'
  confirm({
    title: `${reset ? 'Reset' : 'Trip'} ${id}?`,
    text: reset
      ? 'It closes at once and forgets its failures: calls go through again.'
      : 'It opens at once: calls are refused until its time is up and a test succeeds.',
    action: reset ? 'Reset' : 'Trip',
    isDangerous: !reset,
    async run(reason) {
      const breaker = await callApi<WireBreaker>(
        'POST',
        `/circuit-breakers/${encodeURIComponent(id)}/${action}`,
        {
          reason,
        },
      )
      replaceBreakers([breaker])
      toast(`${id} is ${breaker.state.replace('_', ' ')}.`)
    },
  })
}

/** What the columns are, where there is room to say it. The rows say it themselves to those who cannot see them. */
export const BreakerHead = () => (
  <div class="breaker breaker-head" aria-hidden="true">
    <span>State</span>
    <span>Breaker</span>
    <span>In its window</span>
    <span>Next</span>
    <span>Last 15 min</span>
  </div>
)

export function BreakerRow({ breaker, changes, since, begun }: BreakerRowProps) {
  const { id, state, failure_count, failure_threshold, window_type } = breaker
  const opens = window_type === 'rate' ? 'opens by their share' : `opens at ${formatCount(failure_threshold)}`
  return (
    <div class={`breaker ${state}`}>
      <StateLabel of={state} />
      <span class="breaker-id" title={id}>
        {id}
      </span>
      <span class="breaker-count">
        {formatPlural(failure_count, 'failure', 'failures')}
        {state === 'closed' && `, ${opens}`}
      </span>
      <span class="breaker-next">
        <NextTest breaker={breaker} />
      </span>
      <StateTimeline breaker={breaker} changes={changes} since={since} begun={begun} />
      {hasRole('operator') && (
        <span class="actions">
          <button
            type="button"
            class="small secondary"
            aria-label={`Reset ${id}`}
            onClick={() => confirmAction(id, 'reset')}
          >
            Reset
          </button>
          <button
            type="button"
            class="small secondary"
            aria-label={`Trip ${id}`}
            onClick={() => confirmAction(id, 'trip')}
          >
            Trip
          </button>
        </span>
      )}
    </div>
  )
}
