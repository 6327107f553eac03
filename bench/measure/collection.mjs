import { fill, time, undisturbed } from './batch.mjs'

/** In milliseconds. Short, because discarded code is compiled again within a few milliseconds. */
const SLICE = 2
const ROUNDS = 40
const FEWEST = 9

/**
 * How long a subject takes right after full garbage collections with no call in flight, and before them.
 *
 * @param {import('./batch.mjs').Batch} bare
 * @param {import('./batch.mjs').Batch} subject
 * @returns {Promise<{ before: number[], after: number[] }>} one of each per collection, as ratios to the bare thing
 */
export async function aroundCollections(bare, subject) {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc')
  let bareTimes = await fill(bare, SLICE)
  let subjectTimes = await fill(subject, SLICE)

  const pair = async () => {
    // The code without the library is measured first, so that the sweep after a garbage collection counts against it and not
    // against the library.
    const theirs = await time(bare, bareTimes)
    const ours = await time(subject, subjectTimes)
    const ratio = ours.took / (subjectTimes * subject.calls) / (theirs.took / (bareTimes * bare.calls))
    return { ratio, disturbed: ours.disturbed || theirs.disturbed }
  }

  for (let i = 0; i < 100; i++) await pair()
  bareTimes = await fill(bare, SLICE)
  subjectTimes = await fill(subject, SLICE)
  const samples = []
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 3; i++) await pair()
    const before = await pair()
    // Twice: what the first collection finds unused, the second may discard.
    gc()
    gc()
    const after = await pair()
    samples.push({
      before: before.ratio,
      after: after.ratio,
      disturbed: before.disturbed || after.disturbed,
    })
  }
  const kept = undisturbed(samples, FEWEST)
  return { before: kept.map(({ before }) => before), after: kept.map(({ after }) => after) }
}
