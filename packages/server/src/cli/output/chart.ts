import { formatSeconds } from './text.js'

/** A wait in seconds: without jitter, and its range with jitter. */
export interface ChartedWait {
  readonly attempt: number
  readonly base: number
  readonly min: number
  readonly max: number
}

/** The maximum number of bars. */
const MAX_BARS = 20
const LABEL_WIDTH = 12

/**
 * Draws waits as bars, one per line: solid up to the minimum, shaded up to the maximum with jitter.
 *
 *     attempt 2   ██████▒▒▒▒▒▒            500 ms – 1 s
 */
export function formatChart(waits: readonly ChartedWait[], columns: number): string[] {
  const shownWaits = waits.slice(0, MAX_BARS)
  const longest = Math.max(...shownWaits.map(({ max }) => max))
  if (shownWaits.length === 0 || longest <= 0) return []
  const labels = shownWaits.map(({ min, max }) =>
    min === max ? formatSeconds(max) : `${formatSeconds(min)} – ${formatSeconds(max)}`,
  )
  const width = Math.max(
    8,
    Math.min(60, columns - LABEL_WIDTH - 2 - Math.max(...labels.map((label) => label.length))),
  )
  const lines = shownWaits.map(({ attempt, min, max }, i) => {
    const full = Math.round((min / longest) * width)
    const end = Math.max(1, Math.round((max / longest) * width))
    const bar = `${'█'.repeat(full)}${'▒'.repeat(Math.max(0, end - full))}`
    return `${`attempt ${attempt}`.padEnd(LABEL_WIDTH)}${bar.padEnd(width)}  ${labels[i]}`
  })
  if (waits.length > MAX_BARS) lines.push(`… and ${waits.length - MAX_BARS} more`)
  return lines
}
