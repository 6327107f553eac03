import { failureCounts, formatDuration } from '../stability/series.mjs'

/** @import { Run, Series } from '../stability/series.mjs' */

/** When a run began and ended. @param {Run} run */
const periodOf = ({ start, seconds }) => ({
  from: Date.parse(start),
  to: Date.parse(start) + seconds * 1000,
})

/** Whether a run of one series ran beside a run of another one. @param {Series} one @param {Series} other */
const ranTogether = (one, other) =>
  one.runs.map(periodOf).some((a) => other.runs.map(periodOf).some((b) => a.from < b.to && b.from < a.to))

/** @param {readonly Series[]} series */
function requireOneMeasurement(series) {
  for (const key of /** @type {const} */ (['commit', 'command'])) {
    const values = [...new Set(series.map((each) => each[key]))]
    if (values.length !== 1)
      throw new Error(`expected series of one ${key}, got ${values.join(' and ') || 'none'}`)
  }
  const [first, ...others] = /** @type {[Series, ...Series[]]} */ (series)
  if (series.some(({ runs }) => runs.length === 0))
    throw new Error('expected at least one run of each series')
  if (others.some((other) => !ranTogether(first, other)))
    throw new Error('expected series that ran at the same time')
  if (
    new Set(series.flatMap(({ runs }) => runs.map(({ start }) => start))).size <
    series.flatMap(({ runs }) => runs).length
  )
    throw new Error('expected different series, got a run twice')
  return first
}

/**
 * Describes series of runs as Markdown, with all runs in the order of their starts.
 *
 * @param {readonly Series[]} series more than one if they ran at the same time, each in its own clone
 */
export function describeSeries(series) {
  const { command, commit } = requireOneMeasurement(series)
  const runs = series.flatMap((each) => each.runs).toSorted((a, b) => a.start.localeCompare(b.start))
  const failedCount = runs.filter(({ failures }) => failures.length > 0).length
  const busy = series.reduce((sum, each) => sum + each.busy, 0)
  const where = [
    ...(series.length > 1 ? [`, in ${series.length} clones at the same time`] : []),
    ...(busy > 0 ? [`, beside ${busy} busy processes`] : []),
  ].join('')
  const result = failedCount === 0 ? 'All passed.' : `${failedCount} failed.`
  const machines = [...new Set(runs.map(({ machine }) => machine))].join('; ')
  return [
    `${runs.length} ${runs.length === 1 ? 'run' : 'runs'} of \`${command}\` at commit ${commit.slice(0, 12)}${where}. ${result} Machine: ${machines}.`,
    '',
    '| start (UTC) | duration | passed | failed | skipped |',
    '|---|---|---|---|---|',
    ...runs.map(
      ({ start, seconds, passed, failed, skipped }) =>
        `| ${start.slice(0, 16).replace('T', ' ')} | ${formatDuration(seconds)} | ${passed.toLocaleString('en-US')} | ${failed} | ${skipped} |`,
    ),
    ...(failedCount === 0 ? [] : ['', ...failureCounts(runs).map(([name, times]) => `- ${times} × ${name}`)]),
  ].join('\n')
}
