// Samples of processes as curves: one list of points for each process and measure.

/**
 * @typedef {{ minute: number, value: number }} Point
 * @typedef {Record<string, Record<string, Point[]>>} Curves by the name of the process and of the measure
 */

/** The measures of a sample, and how each is read. The sampler and the soak test write different ones. @type {Record<string, (sample: any) => number | undefined>} */
const MEASURES = {
  rss: (sample) => sample.rss,
  heap: (sample) => sample.heapAfterGc,
  external: (sample) => sample.externalAfterGc,
  descriptors: (sample) => sample.descriptors,
  sockets: (sample) => sample.sockets,
  store: (sample) => sample.store,
  delayP50: (sample) => sample.delay?.p50,
  delayP99: (sample) => sample.delay?.p99,
  delayP999: (sample) => sample.delay?.p999,
}

/** The complete lines of a file of JSON lines. The last line may still be incomplete. @param {string} text */
export const parseSamples = (text) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/**
 * The curves of samples. `wait` is the part of the time in which the main thread was ready to run and had no processor.
 *
 * @param {readonly any[]} samples in the order of their times
 * @param {{ startedAt: number, endedAt?: number }} run in milliseconds; samples outside of it are ignored
 * @returns {Curves}
 */
export function curvesOf(samples, { startedAt, endedAt = Infinity }) {
  /** @type {Curves} */
  const curves = {}
  /** The last sample of the time that each process has waited for a processor. @type {Record<string, { at: number, waitedMs: number }>} */
  const waits = {}
  for (const sample of samples) {
    if (sample.at < startedAt || sample.at > endedAt) continue
    const minute = (sample.at - startedAt) / 60_000
    const process = (curves[sample.name] ??= {})
    for (const [measure, read] of Object.entries(MEASURES)) {
      const value = read(sample)
      if (value !== undefined) (process[measure] ??= []).push({ minute, value })
    }
    if (sample.waitedMs === undefined) continue
    const last = waits[sample.name]
    if (last !== undefined && sample.at > last.at)
      (process['wait'] ??= []).push({
        minute,
        value: (sample.waitedMs - last.waitedMs) / (sample.at - last.at),
      })
    waits[sample.name] = sample
  }
  return curves
}
