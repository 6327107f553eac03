import { closeGate } from '../work.mjs'
import { time, undisturbed } from './batch.mjs'

/** How many calls are in flight; each width makes about as many calls in all. */
const FEW = 64
const MANY = 1000
const MAX_CALLS = 10_000
const WARM_UP = 400
const MEASURE = 700
const FEWEST = 3

/**
 * What a call costs while others are in flight: all start, then the gate opens, then all end. Widths take turns, so
 * that a busy machine slows all of them.
 *
 * @param {import('./loops.mjs').Call} call of work behind the gate
 * @returns {Promise<{ few: number[], many: number[], most: number[] }>} nanoseconds per call with few in flight, and
 *   how many times as much with more
 */
export async function load(call) {
  const [few, many, most] = [waves(call, FEW), waves(call, MANY), waves(call, MAX_CALLS)]
  const perCall = async (/** @type {import('./batch.mjs').Batch} */ batch) => {
    const times = Math.round(MAX_CALLS / batch.calls)
    const { took, disturbed } = await time(batch, times)
    return { nanoseconds: (took * 1e6) / (times * batch.calls), disturbed }
  }
  const sample = async () => {
    const atFew = await perCall(few)
    const atMany = await perCall(many)
    const atMost = await perCall(most)
    return {
      few: atFew.nanoseconds,
      many: atMany.nanoseconds / atFew.nanoseconds,
      most: atMost.nanoseconds / atFew.nanoseconds,
      disturbed: atFew.disturbed || atMany.disturbed || atMost.disturbed,
    }
  }

  for (const end = performance.now() + WARM_UP; performance.now() < end; ) await sample()
  const samples = []
  const end = performance.now() + MEASURE
  while (performance.now() < end || samples.length < FEWEST) samples.push(await sample())
  const kept = undisturbed(samples, FEWEST)
  return {
    few: kept.map((one) => one.few),
    many: kept.map((one) => one.many),
    most: kept.map((one) => one.most),
  }
}

/**
 * @param {import('./loops.mjs').Call} call
 * @param {number} width
 * @returns {import('./batch.mjs').Batch}
 */
function waves(call, width) {
  return {
    calls: width,
    async run(times) {
      for (let i = 0; i < times; i++) {
        const open = closeGate()
        const all = new Array(width)
        for (let j = 0; j < width; j++) all[j] = call()
        open()
        await Promise.all(all)
      }
    },
  }
}
