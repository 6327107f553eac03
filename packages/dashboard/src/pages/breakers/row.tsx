import { hasRole } from '../../api/role.js'
import type { WireBreaker, WireBreakerChange } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { StateLabel } from '../../components/basics.js'
import { formatCount, formatPlural } from '../../format.js'
import { now } from '../../now.js'
import { urlFor } from '../../route.js'
import { confirmReset, confirmTrip } from './actions.js'
import { formatTimesOpened, knownFrom } from './changes.js'
import { NextProbe } from './next-probe.js'
import { summarizeSegments, timelineSegments } from './state-timeline.js'

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

/** How often a breaker opened in the last hour. */
function TimesOpened({ changes, since }: Pick<BreakerRowProps, 'changes' | 'since'>) {
  const text = formatTimesOpened(changes, since, now.value)
  const label = `opened ${text} times in the last hour`
  return (
    <span class="breaker-opened" role="img" aria-label={label} title={label}>
      {text}
    </span>
  )
}

/** The header of the columns on wide screens. It is hidden from screen readers, because the rows describe themselves. */
export const BreakerHead = () => (
  <div class="breaker breaker-head" aria-hidden="true">
    <span>State</span>
    <span>Breaker</span>
    <span>Failures</span>
    <span class="breaker-opened" title="in the last hour">
      Times opened
    </span>
    <span>Next probe</span>
    <span>Last 15 min</span>
  </div>
)

export function BreakerRow({ breaker, changes, since, begun }: BreakerRowProps) {
  const { id, state, failure_count, failure_threshold, window_type, trip_duration } = breaker
  const opens =
    window_type === 'rate' ? 'opens by failure rate' : `opens at ${formatCount(failure_threshold)}`
  return (
    <div class={`breaker ${state}`}>
      <StateLabel of={state} />
      <a class="breaker-id" href={urlFor('/breakers', { id })} title={id}>
        {id}
      </a>
      <span class="breaker-count">
        {state === 'closed'
          ? `${formatPlural(failure_count, 'failure', 'failures')}, ${opens}`
          : failure_count === 0 || trip_duration != null
            ? 'tripped'
            : `opened after ${formatPlural(failure_count, 'failure', 'failures')}`}
      </span>
      <TimesOpened changes={changes} since={since} />
      <span class="breaker-next">
        <NextProbe breaker={breaker} />
      </span>
      <StateTimeline breaker={breaker} changes={changes} since={since} begun={begun} />
      {hasRole('operator') && (
        <span class="actions">
          <ActionButton
            class="small secondary"
            aria-label={`Reset ${id}`}
            onClick={() => confirmReset(breaker)}
          >
            Reset
          </ActionButton>
          <ActionButton
            class="small secondary"
            aria-label={`Trip ${id}`}
            onClick={() => confirmTrip(breaker)}
          >
            Trip
          </ActionButton>
        </span>
      )}
    </div>
  )
}
