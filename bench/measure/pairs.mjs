import { fill, time, undisturbed } from './batch.mjs'

/** In milliseconds. A slice is short, so that what disturbs the machine disturbs few of them. */
const SLICE = 4
const WARM_UP = 250
const MEASURE = 300
/** How long to go on while hardly a pair was left in peace. */
const TIMEOUT_MS = 1000
const FEWEST = 9

/**
 * Times the bare thing and the subject in turns. A ratio of neighbours survives a busy machine; a figure alone does not.
 *
 * @param {import('./batch.mjs').Batch} bare
 * @param {import('./batch.mjs').Batch} subject
 * @returns {Promise<{ ratio: number[], perCall: number[] }>} one of each per pair; nanoseconds per call of the subject
 */
export async function pairs(bare, subject) {
  let bareTimes = await fill(bare, SLICE)
  let subjectTimes = await fill(subject, SLICE)

  const pair = async (/** @type {boolean} */ bareFirst) => {
    const before = bareFirst ? await time(bare, bareTimes) : undefined
    const ours = await time(subject, subjectTimes)
    const theirs = before ?? (await time(bare, bareTimes))
    const perCall = ours.took / (subjectTimes * subject.calls)
    const ratio = perCall / (theirs.took / (bareTimes * bare.calls))
    return { ratio, perCall: perCall * 1e6, disturbed: ours.disturbed || theirs.disturbed }
  }

  for (const end = performance.now() + WARM_UP; performance.now() < end; ) await pair(true)
  bareTimes = await fill(bare, SLICE)
  subjectTimes = await fill(subject, SLICE)

  const samples = []
  let calm = 0
  const start = performance.now()
  const elapsed = () => performance.now() - start
  while (elapsed() < (calm < FEWEST ? TIMEOUT_MS : MEASURE) || samples.length < FEWEST) {
    const sample = await pair(samples.length % 2 === 0)
    if (!sample.disturbed) calm++
    samples.push(sample)
  }
  const kept = undisturbed(samples, FEWEST)
  return { ratio: kept.map(({ ratio }) => ratio), perCall: kept.map(({ perCall }) => perCall) }
}
