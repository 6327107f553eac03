import { fill, time, undisturbed } from './batch.mjs'

/** In milliseconds. A slice is short, so that what disturbs the machine disturbs few of them. */
const SLICE = 4
const WARM_UP = 250
const MEASURE = 300
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
  const end = performance.now() + MEASURE
  while (performance.now() < end || samples.length < FEWEST)
    samples.push(await pair(samples.length % 2 === 0))
  const kept = undisturbed(samples, FEWEST)
  return { ratio: kept.map(({ ratio }) => ratio), perCall: kept.map(({ perCall }) => perCall) }
}
