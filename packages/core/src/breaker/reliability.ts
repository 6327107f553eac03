/** How many results the long run is, and how many there must be before it says anything. */
const MAX_RECENT_OUTCOMES = 200
const MIN_RECENT_OUTCOMES = 50

/** The last 200 results, oldest first, 1 a success and 0 a failure, with one more. */
export const appendOutcome = (outcomes: string, isSuccess: boolean): string =>
  (outcomes + +isSuccess).slice(-MAX_RECENT_OUTCOMES)

/** The threshold for a target with these results: less patience with one that has long failed, never below 2. */
export function adaptiveThreshold(outcomes: string, failureThreshold: number): number {
  const count = outcomes.length
  if (count < MIN_RECENT_OUTCOMES) return failureThreshold
  const rate = outcomes.replaceAll('0', '').length / count
  return Math.max(2, Math.round(failureThreshold * Math.min(1, Math.max(0.4, rate / 0.9))))
}
