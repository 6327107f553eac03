// `npm run test:soak`: an hour of load on a server, a forward proxy and a fleet of three nodes with Redis and PostgreSQL.
// Memory, file descriptors and the delay of the event loop must stay flat, and the counters must equal what the clients saw.
//
//   npm run test:soak -- --minutes 60 --rate 60 --seed 7 --json
//
// The samples, the picture and the summary are in .cache/soak. `npm run report:soak` writes them to docs/soak.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './packages.mjs'
import { drawCurves, sparkline, table } from './soak/chart.mjs'
import { JUDGED, REFERENCE, SHOWN } from './soak/names.mjs'
import { assertBuilt, commitOf, SoakRun } from './soak/run.mjs'
import { curvesOf, parseSamples } from './soak/samples.mjs'
import { formatMeasure, judge } from './soak/verdict.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    folder: { type: 'string', default: join(root, '.cache/soak') },
  },
})
const minutes = Number(values.minutes)
const rate = Number(values.rate)
const seed = Number(values.seed)
if (!(minutes > 0) || !(rate > 0) || !Number.isSafeInteger(seed)) {
  console.error('expected numbers above 0 for --minutes and --rate, and a whole number for --seed')
  process.exit(2)
}
assertBuilt()

/** The part of the run in which caches and stores fill. */
const warmUpMinutes = Math.min(12, minutes / 4)
const MEASURES = ['heap', 'rss', 'descriptors', 'delayP99', 'wait']

/** @param {string} text */
const print = (text) => (values.json ? console.error(text) : console.log(text))

const run = new SoakRun({ folder: values.folder, seed, rate })
let isStopped = false
// The first signal ends the run with a summary.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => {
    isStopped = true
  })

let startedAt = Date.now()
const readCurves = (/** @type {number} */ endedAt) =>
  curvesOf(parseSamples(readFileSync(run.samples, 'utf8')), { startedAt, endedAt })

/** @param {number} minute */
function printProgress(minute) {
  const curves = readCurves(Date.now())
  const rows = SHOWN.map((process) => [
    process,
    ...MEASURES.map((measure) => {
      const value = curves[process]?.[measure]?.at(-1)?.value
      return value === undefined ? '-' : formatMeasure(measure, value)
    }),
  ])
  print(`\nminute ${minute} of ${minutes}, load ${loadavg()[0]?.toFixed(1)}`)
  print(table([['process', ...MEASURES], ...rows]))
}

let exitCode = 1
try {
  print(`starting: seed ${seed}, ${rate} calls per second and node, ${minutes} minutes`)
  await run.start()
  startedAt = Date.now()
  await run.sample({
    endsAt: startedAt + minutes * 60_000,
    isStopped: () => isStopped,
    onMinute: printProgress,
  })
  const endedAt = Date.now()
  // The samples of the run are judged also if a process does not respond.
  const { problems, totals, details } = await run.check().catch((error) => ({
    problems: [`the check failed: ${error?.stack ?? error}`],
    totals: {},
    details: {},
  }))
  const curves = readCurves(endedAt)
  const verdict = judge(curves, { processes: JUDGED, reference: REFERENCE, warmUpMinutes })
  const all = [...problems, ...verdict.problems]
  const measuredMinutes = (endedAt - startedAt) / 60_000
  const picture = join(values.folder, 'curves.svg')
  const title = `Soak test: ${measuredMinutes.toFixed(0)} minutes, ${rate} calls per second and node`
  writeFileSync(
    picture,
    drawCurves(curves, {
      title,
      processes: SHOWN,
      minutes: measuredMinutes,
      warmUpMinutes,
      starvedMinutes: verdict.starvedMinutes,
    }),
  )
  const summary = {
    date: new Date(startedAt).toISOString().slice(0, 10),
    command: `npm run test:soak -- --minutes ${minutes} --rate ${rate} --seed ${seed}`,
    commit: commitOf(),
    cores: availableParallelism(),
    node: process.version,
    startedAt,
    endedAt,
    minutes: measuredMinutes,
    wantedMinutes: minutes,
    warmUpMinutes,
    rate,
    seed,
    totals,
    rows: verdict.rows,
    starvedMinutes: verdict.starvedMinutes,
    checkProblems: problems,
    problems: all,
  }
  writeFileSync(join(values.folder, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`)
  writeFileSync(join(values.folder, 'details.json'), `${JSON.stringify(details, null, 2)}\n`)
  const rows = verdict.rows.map(({ process, measure, first, last, growth, limit, isFlat }) => [
    isFlat ? 'flat' : 'GREW',
    process,
    measure,
    ...[first, last, growth, limit].map((value) => formatMeasure(measure, value)),
    sparkline(curves[process]?.[measure] ?? []),
  ])
  print(
    `\n${table([['', 'process', 'measure', 'first third', 'last third', 'growth', 'limit', 'curve'], ...rows])}`,
  )
  print(`\n${table(Object.entries(totals).map(([name, value]) => [name, value.toLocaleString('en-US')]))}`)
  if (verdict.starvedMinutes.length > 0)
    print(`\nnot judged, because other programs used the machine: ${verdict.starvedMinutes.length} minutes`)
  print(`\nsamples: ${run.samples}\npicture: ${picture}`)
  for (const problem of all) print(`FAIL ${problem}`)
  print(all.length === 0 ? 'all curves are flat, and all counters agree' : `${all.length} problems`)
  if (values.json) console.log(JSON.stringify(summary, null, 2))
  exitCode = all.length === 0 ? 0 : 1
} finally {
  await run.stop()
}
process.exit(exitCode)
