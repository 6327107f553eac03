import { guard, Pool } from 'holdfast'
import { fill, time } from './batch.mjs'

/** @typedef {import('../strategies.mjs').Strategy} Strategy */

const SLICE = 20
const WARM_UP = 400
const MEASURE = 600
const FEWEST = 9

/** The calls come from so many sessions, from twenty regions. */
const CONTEXTS = Array.from({ length: 1024 }, (_, i) => ({
  session: `user-${i}`,
  region: `region-${i % 20}`,
}))

const BROKEN = new Error('made beforehand')
const UNKNOWN = /** @type {const} */ ({ category: 'transient', kind: 'unknown' })

/** The same sessions, wherever they come from. */
const SESSIONS = CONTEXTS.map(({ session }) => ({ session }))

/** What the engine tells a pool of an attempt. @param {number} duration */
const success = (duration) =>
  /** @type {const} */ ({
    hasThrown: false,
    result: 1,
    classification: undefined,
    breakerOutcome: 'success',
    duration,
    endedAt: undefined,
  })

/** @param {number} duration */
const failure = (duration) =>
  /** @type {const} */ ({
    hasThrown: true,
    result: BROKEN,
    classification: UNKNOWN,
    breakerOutcome: 'failure',
    duration,
    endedAt: undefined,
  })

/** @type {never[]} */
const NONE = []

/** @param {number} count */
export const members = (count) =>
  Array.from({ length: count }, (_, i) => ({
    id: `member-${i}`,
    value: i,
    weight: 1 + (i % 7),
    region: `region-${i % 20}`,
    cost: i % 50,
  }))

/**
 * What it costs to choose a member and to take its result, with 30 of 100 members out.
 *
 * @param {Strategy} strategy
 * @param {number} count
 * @returns {Promise<number[]>} nanoseconds of the processor's time
 */
export async function picks(strategy, count) {
  const pool = new Pool({ id: 'pool', members: members(count), strategy, breaker: { timeoutDuration: '1h' } })
  for (let i = 0; i < count; i++) if (i % 10 < 3) pool.breaker(`member-${i}`).trip()
  let call = 0
  /** @type {import('./batch.mjs').Batch} */
  const batch = {
    calls: 1,
    async run(times) {
      for (let i = 0; i < times; i++) {
        const pick = pool.select(CONTEXTS[call++ & 1023], NONE, undefined)
        if (pick === undefined) throw new Error('no member is available')
        pool.recordOutcome(pick, success(call & 63), NONE)
      }
    },
  }
  await fill(batch, SLICE)
  for (const end = performance.now() + WARM_UP; performance.now() < end; ) await time(batch, 1000)
  const times = await fill(batch, SLICE)
  const samples = []
  for (const end = performance.now() + MEASURE; performance.now() < end || samples.length < FEWEST; ) {
    const before = process.cpuUsage()
    await batch.run(times)
    samples.push((processorTime(before) * 1e6) / times)
  }
  return samples
}

/**
 * What a pool adds to a call through a guard, in turns with the same guard without a pool.
 *
 * @param {Strategy} strategy
 * @param {number} count
 * @returns {Promise<number[]>} nanoseconds of the processor's time
 */
export async function guardOverhead(strategy, count) {
  const succeed = async () => 1
  const withPool = guard({ pool: new Pool({ id: 'pool', members: members(count), strategy }) })
  const withoutPool = guard()
  /** @param {ReturnType<typeof guard>} one @param {number} times */
  const measure = async (one, times) => {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await one.run(succeed, { context: CONTEXTS[i & 1023] })
    return (processorTime(before) * 1e6) / times
  }
  for (let i = 0; i < 4; i++) for (const one of [withPool, withoutPool]) await measure(one, 20_000)
  const samples = []
  for (let i = 0; i < 15; i++)
    samples.push((await measure(withPool, 10_000)) - (await measure(withoutPool, 10_000)))
  return samples
}

/** Milliseconds that this process had the processor since then. @param {NodeJS.CpuUsage} before */
function processorTime(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * What a member costs that was used once; every other one failed. The members themselves are made beforehand.
 *
 * @param {Strategy} strategy
 * @param {number} count
 * @param {boolean} [regions] whether calls name a region
 * @returns {{ bytes: number[], resident: number[] }} of one member: on the heap and in buffers, and as the system sees it
 */
export function memory(strategy, count, regions = true) {
  const all = members(count)
  const contexts = regions ? CONTEXTS : SESSIONS
  const before = used()
  const pool = new Pool({ id: 'pool', members: all, strategy })
  for (let i = 0; i < count; i++) {
    const pick = pool.select(contexts[i & 1023], NONE, undefined)
    if (pick === undefined) throw new Error('no member is available')
    pool.recordOutcome(pick, i % 2 === 0 ? success(5) : failure(5), NONE)
    // Whatever the strategy prefers, each has its turn.
    pool.drain(pick.member.id)
  }
  const after = used()
  if (pool.size !== count) throw new Error('members were lost')
  return { bytes: [(after.held - before.held) / count], resident: [(after.rss - before.rss) / count] }
}

function used() {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc')
  gc()
  gc()
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage()
  return { held: heapUsed + arrayBuffers, rss }
}

/**
 * How long it takes to make a pool and add so many members one by one.
 *
 * @param {Strategy} strategy
 * @param {number} count
 * @param {number} rounds
 * @returns {number[]} milliseconds
 */
export function adding(strategy, count, rounds) {
  const samples = []
  for (let round = 0; round < rounds; round++) {
    const all = members(count)
    const before = process.cpuUsage()
    const pool = new Pool({ id: 'pool', strategy })
    for (const member of all) pool.add(member)
    samples.push(processorTime(before))
  }
  return samples
}
