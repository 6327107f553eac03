import { failureCounts, formatDuration } from '../stability/series.mjs'

/** @import { Series } from '../stability/series.mjs' */

/**
 * Describes series of runs as Markdown, with all runs in the order of their starts.
 *
 * @param {readonly Series[]} series more than one if they ran at the same time, each in its own clone
 */
export function describeSeries(series) {
  const commits = new Set(series.map(({ commit }) => commit))
  const commands = new Set(series.map(({ command }) => command))
  const [first] = series
  if (first === undefined || commits.size > 1 || commands.size > 1)
    throw new Error(
      `expected series of one commit and one command, got ${[...commits].join(', ') || 'none'} and ${[...commands].join(', ') || 'none'}`,
    )
  const runs = series.flatMap((each) => each.runs).toSorted((a, b) => a.start.localeCompare(b.start))
  if (runs.length === 0) throw new Error('expected at least one run that has ended')
  const failed = runs.filter(({ failures }) => failures.length > 0)
  const busy = series.reduce((sum, each) => sum + each.busy, 0)
  const beside = [
    ...(busy > 0 ? [`beside ${busy} busy processes`] : []),
    ...(series.length > 1 ? [`in ${series.length} clones at the same time`] : []),
  ].join(' and ')
  return [
    `Runs of \`${first.command}\` at commit ${first.commit.slice(0, 12)}, ${beside || 'alone'}: ${runs.length}. ${failed.length === 0 ? 'All passed.' : `${failed.length} failed.`} Machine: ${[...new Set(runs.map(({ machine }) => machine))].join('; ')}.`,
    '',
    '| start (UTC) | duration | passed | failed | skipped |',
    '|---|---|---|---|---|',
    ...runs.map(
      ({ start, seconds, passed, failed: failures, skipped }) =>
        `| ${start.slice(0, 16).replace('T', ' ')} | ${formatDuration(seconds)} | ${passed.toLocaleString('en-US')} | ${failures} | ${skipped} |`,
    ),
    ...(failed.length === 0
      ? []
      : ['', ...failureCounts(runs).map(([name, times]) => `- ${times} × ${name}`)]),
  ].join('\n')
}
