/** How many results are kept. */
const MAX_RECENT_OUTCOMES = 200
/** With fewer results the threshold is not changed. */
const MIN_RECENT_OUTCOMES = 50

/** Appends a result to the last 200, oldest first: 1 for a success, 0 for a failure. */
export const appendOutcome = (outcomes: string, isSuccess: boolean): string =>
  (outcomes + +isSuccess).slice(-MAX_RECENT_OUTCOMES)

/** The threshold for a target with these results: lower for a target that has failed often, never below 2. */
export function adaptiveThreshold(outcomes: string, failureThreshold: number): number {
  const count = outcomes.length
  if (count < MIN_RECENT_OUTCOMES) return failureThreshold
  const rate = outcomes.replaceAll('0', '').length / count
  return Math.max(2, Math.round(failureThreshold * Math.min(1, Math.max(0.4, rate / 0.9))))
}
