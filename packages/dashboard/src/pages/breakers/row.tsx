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

/** The time that the timeline covers. */
const TIMELINE_MS = 15 * 60_000

interface BreakerRowProps {
  readonly breaker: WireBreaker
  /** Newest first. */
  readonly changes: readonly WireBreakerChange[]
  /** All changes after this time are known. */
  readonly since: number
  /** The start of the oldest process. */
  readonly begun: number
}

/** The states of a breaker in the last minutes, as a timeline. */
function StateTimeline({ breaker, changes, since, begun }: BreakerRowProps) {
  // Rounded to 15 seconds, so that the timeline is not rendered every second.
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

/** The time of the next probe of an open breaker, or of the last change. */
function NextProbe({ breaker: { state, next_test_time, last_state_change } }: { breaker: WireBreaker }) {
  if (state === 'open' && next_test_time != null) {
    const left = (Date.parse(next_test_time) - now.value) / 1000
    return (
      <span title={formatExactTime(Date.parse(next_test_time))}>
        {left > 0 ? `probe in ${formatDuration(Math.ceil(left))}` : 'probe with the next call'}
      </span>
    )
  }
  return (
    <span>
      {state === 'half_open' && 'probing, '}changed <Time at={last_state_change} short />
    </span>
  )
}

function confirmAction(id: string, action: 'reset' | 'trip'): void {
  const isReset = action === 'reset'
  confirm({
    title: `${isReset ? 'Reset' : 'Trip'} ${id}?`,
    text: isReset
      ? 'The breaker closes at once and clears its failures: calls are allowed again.'
      : 'The breaker opens at once: calls are rejected until the open duration has passed and a probe succeeds.',
    action: isReset ? 'Reset' : 'Trip',
    isDangerous: !isReset,
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

/** The header of the columns on wide screens. It is hidden from screen readers, because the rows describe themselves. */
export const BreakerHead = () => (
  <div class="breaker breaker-head" aria-hidden="true">
    <span>State</span>
    <span>Breaker</span>
    <span>Failures</span>
    <span>Next</span>
    <span>Last 15 min</span>
  </div>
)

export function BreakerRow({ breaker, changes, since, begun }: BreakerRowProps) {
  const { id, state, failure_count, failure_threshold, window_type } = breaker
  const opens =
    window_type === 'rate' ? 'opens by failure rate' : `opens at ${formatCount(failure_threshold)}`
  return (
    <div class={`breaker ${state}`}>
      <StateLabel of={state} />
      <span class="breaker-id" title={id}>
        {id}
      </span>
      <span class="breaker-count">
        {state === 'closed'
          ? `${formatPlural(failure_count, 'failure', 'failures')}, ${opens}`
          : failure_count === 0
            ? 'tripped'
            : `opened after ${formatPlural(failure_count, 'failure', 'failures')}`}
      </span>
      <span class="breaker-next">
        <NextProbe breaker={breaker} />
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
