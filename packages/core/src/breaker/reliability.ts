/** How many results the long run is, and how many there must be before it says anything. */
const LONG_RUN = 200
const ENOUGH = 50

/** The last 200 results, oldest first, 1 a success and 0 a failure, with one more. */
export const remember = (results: string, success: boolean): string => (results + +success).slice(-LONG_RUN)

/** The threshold for a target with these results: less patience with one that has long failed, never below 2. */
export function patience(results: string, failureThreshold: number): number {
  const count = results.length
  if (count < ENOUGH) return failureThreshold
  const rate = results.replaceAll('0', '').length / count
  return Math.max(2, Math.round(failureThreshold * Math.min(1, Math.max(0.4, rate / 0.9))))
}
