import type { Zone } from '../../format.js'

/** The start of a day before today, in epoch milliseconds. */
export function startOfDay(now: number, daysAgo: number, inZone: Zone): number {
  const day = new Date(now)
  return inZone === 'utc'
    ? Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate() - daysAgo)
    : new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysAgo).getTime()
}
