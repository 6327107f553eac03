import type { WireSession } from '../../api/types.js'
import { clock } from '../../browser.js'
import { formatDuration, formatName } from '../../format.js'
import { isRejected } from './outcome.js'
import { timelineParts, timelineTicks } from './timeline.js'

/** The attempts and waits of a call as bars over a time axis, with the member and the error of each attempt. */
export function Timeline({ session }: { session: WireSession }) {
  const now = clock.wall()
  const parts = timelineParts(session, now)
  const ticks = timelineTicks(session, now)
  return (
    <>
      <ol class="timeline" aria-label="Timeline of attempts and waits">
        {parts.map(({ kind, attempt, from, to, length, label }) => (
          <li key={`${kind} ${attempt}`}>
            <span class="timeline-name">
              {kind === 'wait'
                ? `backoff before attempt ${attempt}`
                : isRejected({ outcome: kind })
                  ? 'rejected'
                  : `attempt ${attempt}`}
            </span>
            <span class="timeline-cell">
              <span class="timeline-track" aria-hidden="true">
                {ticks.map(({ at }) => (
                  <i key={at} class="tick" style={{ left: `${at * 100}%` }} />
                ))}
                <span
                  class={kind}
                  title={label}
                  style={{ left: `${from * 100}%`, width: `max(3px, ${(to - from) * 100}%)` }}
                />
              </span>
              {label !== undefined && (
                <span
                  class="timeline-label"
                  title={label}
                  style={{ paddingLeft: `${Math.min(from, 0.5) * 100}%` }}
                >
                  {label}
                </span>
              )}
            </span>
            <span class="timeline-note">
              {kind === 'wait' ? '' : `${formatName(kind)}, `}
              {formatDuration(length)}
            </span>
          </li>
        ))}
      </ol>
      <div class="timeline-axis" aria-hidden="true">
        <span />
        <span class="timeline-ticks">
          {ticks.map(({ at, seconds }) => (
            <span key={at} style={{ left: `${at * 100}%` }}>
              {formatDuration(Number(seconds.toPrecision(6)))}
            </span>
          ))}
        </span>
        <span />
      </div>
    </>
  )
}
