/**
 * @typedef {object} Batch something to time, over and over
 * @property {(times: number) => Promise<void>} run does it so many times
 * @property {number} calls how many calls one of those times is
 *
 * @typedef {object} Timing
 * @property {number} took milliseconds
 * @property {boolean} disturbed whether the process stood still for a part of it: the system was busy with others, or the
 *   batch waited for a timer of its own
 */

/** How much longer than the processor's time the clock's may be. */
const TOLERANCE = 1.1

/** Lets timers and I/O have their turn, as they have between the calls of a program. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * @param {Batch} batch
 * @param {number} times
 * @returns {Promise<Timing>}
 */
export async function time(batch, times) {
  await turn()
  const before = process.cpuUsage()
  const start = performance.now()
  await batch.run(times)
  const took = performance.now() - start
  const { user, system } = process.cpuUsage(before)
  return { took, disturbed: took > (TOLERANCE * (user + system)) / 1000 }
}

/**
 * How many times fill a slice of time. Finding out warms the code up.
 *
 * @param {Batch} batch
 * @param {number} slice milliseconds
 */
export async function fill(batch, slice) {
  for (let times = 1; ; times *= 2) {
    const { took } = await time(batch, times)
    if (took >= slice) return Math.max(1, Math.round((times * slice) / took))
  }
}

/**
 * Removes samples that were disturbed by other processes. If fewer than `fewest` samples remain, all are returned: then the batch
 * itself waits, or the machine is too busy for undisturbed samples.
 *
 * @template {{ disturbed: boolean }} T
 * @param {T[]} samples
 * @param {number} fewest
 * @returns {T[]}
 */
export function undisturbed(samples, fewest) {
  const calm = samples.filter(({ disturbed }) => !disturbed)
  return calm.length >= fewest ? calm : samples
}
