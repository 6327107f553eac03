// The summary of a run as Markdown. Pure.
import { formatMeasure, medianOf } from './verdict.mjs'

/** @typedef {import('./samples.mjs').Curves} Curves @typedef {import('./verdict.mjs').Row} Row */

/** @type {Record<string, string>} */
const MEASURES = {
  heap: 'heap after collection',
  external: 'external memory',
  rss: 'memory (RSS)',
  descriptors: 'file descriptors',
  sockets: 'sockets',
  store: 'size of the store',
  delayP99: 'event-loop delay, p99',
}

/** What a run did, in the order of the table. @type {readonly (readonly [string, string])[]} */
const TOTALS = [
  ['calls', 'calls of the nodes and of the worker'],
  ['failedCalls', 'of these failed'],
  ['retries', 'retries'],
  ['breakersOpened', 'openings of breakers'],
  ['deadLetters', 'dead letters added'],
  ['completedDeadLetters', 'dead letters completed by a replay'],
  ['unrecordedReplays', 'replays that succeeded but could not be recorded, and were repeated'],
  ['reloads', 'config reloads'],
  ['proxyRequests', 'requests through the forward proxy'],
  ['tunnels', 'tunnels through the forward proxy'],
  ['requests', 'requests through the pool of the server'],
  ['rest', 'reads of the REST API'],
  ['readers', 'readers of the event stream'],
]

/** @param {number} value */
const format = (value) => value.toLocaleString('en-US')

/** @param {Curves} curves @param {string} process @param {string} measure @param {number} warmUpMinutes */
function medianAfter(curves, process, measure, warmUpMinutes) {
  const points = (curves[process]?.[measure] ?? []).filter(({ minute }) => minute >= warmUpMinutes)
  return formatMeasure(measure, medianOf(points.map(({ value }) => value)))
}

/** @param {readonly string[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`

/** @param {{ summary: any, verdict: { rows: readonly Row[], problems: readonly string[], starvedMinutes: readonly number[] }, curves: Curves }} run */
export function describeRun({ summary, verdict, curves }) {
  const { rows, starvedMinutes } = verdict
  const { date, command, cores, node, minutes, wantedMinutes, warmUpMinutes, totals } = summary
  /** @type {string[]} */
  const problems = [...summary.checkProblems, ...verdict.problems]
  const result =
    problems.length === 0
      ? 'All curves are flat, all counters agree, no acknowledged dead letter was lost, and none was completed twice.'
      : `Problems (${format(problems.length)}) are listed below.`
  const notJudged =
    starvedMinutes.length === 0
      ? ''
      : ` In ${starvedMinutes.length} of the ${Math.round(minutes - warmUpMinutes)} minutes after the warm-up, other programs had the processors, so these minutes are not judged.`
  const isShort = minutes < wantedMinutes - 1
  const delays = Object.keys(curves).filter((process) => curves[process]?.['delayP99'] !== undefined)
  return [
    `On ${date}, \`${command}\` ran for ${minutes.toFixed(0)} minutes on Node.js ${node.slice(1)} and a machine with ${cores} cores. ${result}${notJudged}${isShort ? ' The run was stopped before its end.' : ''}`,
    ...(problems.length === 0
      ? []
      : ['', ...problems.map((problem) => `- ${[...new Set(problem.split('; '))].join('; ')}`)]),
    '',
    '![Curves of memory, file descriptors and event-loop delay of each process](images/soak.svg)',
    '',
    'The darker parts are the warm-up and the minutes that are not judged. Each curve begins at zero.',
    '',
    row(['process', 'measure', 'first third', 'last third', 'growth', 'limit', 'result']),
    '|---|---|---|---|---|---|---|',
    ...rows.map(({ process, measure, first, last, growth, limit, isFlat }) =>
      row([
        process,
        MEASURES[measure] ?? measure,
        ...[first, last, growth, limit].map((value) => formatMeasure(measure, value)),
        isFlat ? 'flat' : 'not flat',
      ]),
    ),
    '',
    `Event-loop delay after the warm-up, as medians of intervals of five seconds. The last column is the part of the time in which the main thread was ready to run and other programs had the processors.`,
    '',
    row(['process', 'p50', 'p99', 'p99.9', 'waited for a processor']),
    '|---|---|---|---|---|',
    ...delays.map((process) =>
      row([
        process,
        ...['delayP50', 'delayP99', 'delayP999', 'wait'].map((measure) =>
          medianAfter(curves, process, measure, warmUpMinutes),
        ),
      ]),
    ),
    '',
    row(['load', 'count']),
    '|---|---|',
    ...TOTALS.flatMap(([name, title]) =>
      totals[name] === undefined ? [] : [row([title, format(totals[name])])],
    ),
  ].join('\n')
}
