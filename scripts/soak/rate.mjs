const TICK_MS = 20

/**
 * Calls a function at a rate until the process ends. After a delay of the event loop it makes the missed calls at once, so that
 * the average rate is kept.
 *
 * @param {number} perSecond
 * @param {() => void} start
 * @param {() => boolean} isPaused while it returns true no calls become due
 */
export function startAtRate(perSecond, start, isPaused) {
  let due = 0
  let lastTick = performance.now()
  setInterval(() => {
    const now = performance.now()
    if (!isPaused()) due += ((now - lastTick) * perSecond) / 1000
    lastTick = now
    for (; due >= 1; due--) start()
  }, TICK_MS)
}
