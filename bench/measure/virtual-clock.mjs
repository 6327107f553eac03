/**
 * A clock for simulations: time jumps to the next timer when nothing else is left to do. It keeps hundreds of thousands of
 * timers, in a heap.
 */
export function virtualClock() {
  let now = 0
  let count = 0
  /** @type {{ due: number, order: number, fn: (() => void) | undefined }[]} */
  const heap = []
  const before = (/** @type {number} */ a, /** @type {number} */ b) => {
    const [one, other] = [heap[a], heap[b]]
    if (one === undefined || other === undefined) return false
    return one.due < other.due || (one.due === other.due && one.order < other.order)
  }
  const swap = (/** @type {number} */ a, /** @type {number} */ b) => {
    const [one, other] = [heap[a], heap[b]]
    if (one === undefined || other === undefined) return
    heap[a] = other
    heap[b] = one
  }
  const pop = () => {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    heap[0] = last
    for (let at = 0; ; ) {
      let child = 2 * at + 1
      if (before(child + 1, child)) child++
      if (!before(child, at)) return first
      swap(child, at)
      at = child
    }
  }
  const clock = {
    now: () => now,
    wall: () => now + Date.UTC(2026, 0, 1),
    setTimer(/** @type {() => void} */ fn, /** @type {number} */ ms) {
      const timer = {
        due: now + Math.max(0, ms),
        order: count++,
        fn: /** @type {typeof fn | undefined} */ (fn),
      }
      let at = heap.push(timer) - 1
      while (at > 0 && before(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1)
        at = (at - 1) >> 1
      }
      return timer
    },
    clearTimer(/** @type {unknown} */ handle) {
      const timer = /** @type {{ fn: unknown } | undefined} */ (handle)
      if (timer !== undefined) timer.fn = undefined
    },
    /** @param {number} ms @returns {Promise<void>} */
    sleep: (ms) => new Promise((resolve) => clock.setTimer(() => resolve(), ms)),
    /** Runs until there is nothing left to do. */
    async run() {
      for (let timer = pop(); timer !== undefined; timer = pop()) {
        if (timer.fn === undefined) continue
        now = timer.due
        timer.fn()
        // All promises that can settle do so before time goes on.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
  return clock
}
