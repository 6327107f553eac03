import { span } from './text.js'

/** A wait in seconds: without chance, and what chance makes of it. */
export interface ChartedWait {
  readonly attempt: number
  readonly base: number
  readonly min: number
  readonly max: number
}

/** So many waits are drawn. */
const DRAWN = 20
const LABEL = 12

/**
 * Waits as bars, one a line: full where every wait lasts, shaded where chance decides.
 *
 *     attempt 2   ██████▒▒▒▒▒▒            500 ms – 1 s
 */
export function chart(waits: readonly ChartedWait[], columns: number): string[] {
  const shownWaits = waits.slice(0, DRAWN)
  const longest = Math.max(...shownWaits.map(({ max }) => max))
  if (shownWaits.length === 0 || longest <= 0) return []
  const words = shownWaits.map(({ min, max }) => (min === max ? span(max) : `${span(min)} – ${span(max)}`))
  const room = Math.max(8, Math.min(60, columns - LABEL - 2 - Math.max(...words.map((word) => word.length))))
  const lines = shownWaits.map(({ attempt, min, max }, i) => {
    const full = Math.round((min / longest) * room)
    const most = Math.max(1, Math.round((max / longest) * room))
    const bar = `${'█'.repeat(full)}${'▒'.repeat(Math.max(0, most - full))}`
    return `${`attempt ${attempt}`.padEnd(LABEL)}${bar.padEnd(room)}  ${words[i]}`
  })
  if (waits.length > DRAWN) lines.push(`… and ${waits.length - DRAWN} more`)
  return lines
}
