// Real time: the example waits for real processes and servers.

/** Monotonic time in milliseconds. */
// oxlint-disable-next-line holdfast/clock -- other processes take real time
export const now = (): number => performance.now()

export function sleep(ms: number): Promise<void> {
  // oxlint-disable-next-line holdfast/clock -- other processes take real time
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** How often a long wait is reported. */
const REPORT_EVERY_MS = 5000

/** How long a wait without progress can take. A busy machine is slow, so this is for processes that hang. */
const NO_PROGRESS_MS = 180_000

/**
 * Waits until a condition is true. Returns false after three minutes without progress. Reports long waits.
 */
export async function until(isSo: () => unknown, nearness?: () => Promise<number>): Promise<boolean> {
  const startedAt = now()
  let reportAt = startedAt + REPORT_EVERY_MS
  let end = startedAt + NO_PROGRESS_MS
  let nearest = 0
  while (now() < end) {
    if (await isSo()) return true
    const near = (await nearness?.()) ?? 0
    if (near > nearest) end = now() + NO_PROGRESS_MS
    nearest = Math.max(nearest, near)
    if (now() > reportAt) {
      const progress = nearness === undefined ? '' : `, ${near} orders are saved`
      console.log(`  …    waiting for ${Math.round((now() - startedAt) / 1000)} s${progress}`)
      reportAt = now() + REPORT_EVERY_MS
    }
    await sleep(20)
  }
  return false
}
