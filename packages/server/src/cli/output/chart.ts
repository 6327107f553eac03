import { formatSeconds } from './text.js'

/** A wait in seconds: without chance, and what chance makes of it. */
export interface ChartedWait {
  readonly attempt: number
  readonly base: number
  readonly min: number
  readonly max: number
}

/** So many waits are drawn. */
const MAX_BARS = 20
const LABEL_WIDTH = 12

/**
 * Waits as bars, one a line: full where every wait lasts, shaded where chance decides.
 *
 *     attempt 2   ██████▒▒▒▒▒▒            500 ms – 1 s
 */
export function formatChart(waits: readonly ChartedWait[], columns: number): string[] {
  const shownWaits = waits.slice(0, MAX_BARS)
  const longest = Math.max(...shownWaits.map(({ max }) => max))
  if (shownWaits.length === 0 || longest <= 0) return []
  const words = shownWaits.map(({ min, max }) =>
    min === max ? formatSeconds(max) : `${formatSeconds(min)} – ${formatSeconds(max)}`,
  )
  const room = Math.max(
    8,
    Math.min(60, columns - LABEL_WIDTH - 2 - Math.max(...words.map((word) => word.length))),
  )
  const lines = shownWaits.map(({ attempt, min, max }, i) => {
    const full = Math.round((min / longest) * room)
    const most = Math.max(1, Math.round((max / longest) * room))
    const bar = `${'█'.repeat(full)}${'▒'.repeat(Math.max(0, most - full))}`
    return `${`attempt ${attempt}`.padEnd(LABEL_WIDTH)}${bar.padEnd(room)}  ${words[i]}`
  })
  if (waits.length > MAX_BARS) lines.push(`… and ${waits.length - MAX_BARS} more`)
  return lines
}
