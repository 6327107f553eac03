import { clock } from '../../browser.js'
import { selectFixedRange } from '../../time-range.js'
import { zone } from '../../zone.js'
import { startOfDay } from './day.js'

/** Selects yesterday as the time range, in the time zone that the page shows. */
export function selectYesterday(): void {
  const now = clock.wall()
  selectFixedRange(startOfDay(now, 1, zone.peek()), startOfDay(now, 0, zone.peek()))
}
