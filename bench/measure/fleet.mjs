import { guard, Pool } from 'holdfast'
import { seededRandom } from 'holdfast/testing'
import { virtualClock } from './virtual-clock.mjs'

/** What share of the members fails how often: most are sound or flaky, some are hardly there. */
const KINDS = [
  { share: 0.4, fails: 0.03 },
  { share: 0.4, fails: 0.45 },
  { share: 0.2, fails: 0.9 },
]
const MEMBERS = 100
const CALLS_PER_SECOND = 50
const SECONDS = 600

/** A member that fails more often than this wastes the attempt. */
const HOPELESS = 0.7

/** @typedef {{ strategy: 'score' | 'random', breakers: boolean, retry?: import('holdfast').RetryOptions | false }} Setup */

/**
 * Calls to a fleet of members that fail by chance, on virtual time: the same seed, the same fleet, the same arrivals.
 *
 * @param {Setup} setup
 */
export async function fleet({ strategy, breakers, retry = {} }) {
  const clock = virtualClock()
  const random = seededRandom(20_26)
  const chance = seededRandom(7)
  const all = Array.from({ length: MEMBERS }, (_, i) => ({
    id: `m${i}`,
    value: { fails: failsOf(i / MEMBERS), latency: 50 + 400 * random() },
  }))
  const pool = new Pool({
    id: 'fleet',
    members: all,
    strategy,
    clock,
    random,
    breaker: breakers ? {} : { failureThreshold: Number.MAX_SAFE_INTEGER },
  })
  const call = guard({ pool, clock, random, retry })
  const told = {
    calls: 0,
    succeeded: 0,
    wasted: 0,
    retried: 0,
    firstRetries: 0,
    savedByFirst: 0,
    withinTwo: 0,
  }
  /** @type {number[]} */
  const durations = []

  const one = async () => {
    const start = clock.now()
    let attempts = 0
    told.calls++
    try {
      await call.run(async ({ member, number }) => {
        const { fails, latency } = member.value
        attempts = number
        if (fails > HOPELESS) told.wasted++
        if (number === 2) told.firstRetries++
        const fails1 = chance() < fails
        await clock.sleep(latency * (0.5 + chance()))
        if (fails1) throw new Error('by chance')
        if (number === 2) told.savedByFirst++
      })
      told.succeeded++
      if (attempts <= 3) told.withinTwo++
    } catch {}
    if (attempts > 1) durations.push(clock.now() - start)
  }
  for (let i = 0; i < SECONDS * CALLS_PER_SECOND; i++)
    clock.setTimer(() => void one(), (i * 1000) / CALLS_PER_SECOND)
  await clock.run()

  durations.sort((a, b) => a - b)
  return {
    success: told.succeeded / told.calls,
    firstRetry: told.savedByFirst / told.firstRetries,
    wasted: told.wasted,
    withinTwo: told.withinTwo / told.succeeded,
    p95: durations[Math.floor(durations.length * 0.95)] ?? 0,
  }
}

/** @param {number} place from 0 to 1 */
function failsOf(place) {
  let end = 0
  for (const { share, fails } of KINDS) {
    end += share
    if (place < end - 1e-9) return fails
  }
  return 0
}
