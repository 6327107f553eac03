import { formatCount, formatDuration } from '../../format.js'
import type { PolicySchedule, WaitRange } from './schedule.js'

/** A range of seconds: `350–700 ms`, or `900 ms–1.2 s` where the units differ. */
function formatDurationRange(least: number, most: number): string {
  const [low, high] = [formatDuration(least), formatDuration(most)]
  if (low === high) return high
  const [number, unit, ...more] = low.split(' ')
  const sharesUnit = more.length === 0 && high.split(' ').length === 2 && high.endsWith(` ${unit}`)
  return sharesUnit ? `${number}–${high}` : `${low}–${high}`
}

/** `700 ms (350–700 ms with jitter)`; without the range where there is no jitter. */
const formatWait = ({ base, least, most }: WaitRange): string =>
  least === most && least === base
    ? formatDuration(base)
    : `${formatDuration(base)} (${formatDurationRange(least, most)} with jitter)`

/** The sum of all waits in one sentence, and the total timeout where it ends the call earlier. */
export function formatTotalWait(schedule: PolicySchedule, totalTimeout: unknown): string {
  const { total, last, isMinimum, waits, count } = schedule
  const deadline = typeof totalTimeout === 'number' ? totalTimeout : Number.POSITIVE_INFINITY
  const parts: string[] = []
  if (total !== undefined) parts.push(`Total wait ${isMinimum ? 'at least ' : ''}${formatWait(total)}.`)
  else if (last !== undefined)
    parts.push(
      `Total wait unlimited: attempts are not limited, and each further wait is ${formatWait(last)}.`,
    )
  if ((total?.most ?? Number.POSITIVE_INFINITY) > deadline)
    parts.push(`The total timeout ends the call after ${formatDuration(deadline)}.`)
  if (count > waits.length)
    parts.push(
      `The chart shows the first ${waits.length} of ${count === Number.POSITIVE_INFINITY ? 'unlimited' : formatCount(count)} waits.`,
    )
  return parts.join(' ')
}
