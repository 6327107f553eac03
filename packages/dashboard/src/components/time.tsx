import { formatClockTime, formatExactTime, formatRelative } from '../format.js'
import { now } from '../now.js'
import { zone } from '../zone.js'

/** A time relative to now and as clock time. `short` shows only the relative time, for narrow rows. */
export function Time({ at, short = false }: { at: string | number; short?: boolean }) {
  const ms = typeof at === 'number' ? at : Date.parse(at)
  return (
    <time
      dateTime={new Date(ms).toISOString()}
      title={`${formatExactTime(ms, 'local')}\n${formatExactTime(ms, 'utc')}`}
    >
      {formatRelative(ms, now.value)}
      {!short && <span class="clock"> {formatClockTime(ms, now.value, zone.value)}</span>}
    </time>
  )
}
