// `npm run test:stability`: repeats the gate beside busy processes, to find tests that depend on the speed of the machine.
//
//   npm run test:stability -- --runs 20
//   npm run test:stability -- --runs 20 --resume
//   npm run test:stability -- --runs 20 --tests packages/fleet
//
// Each run is stored in `.cache/stability.json` (`--results` names another file) when it has ended. `--resume` continues a series
// that was interrupted: it makes the runs that are missing to `--runs` consecutive ones. The output of a failed run is stored beside
// the results. `--tests` repeats only the step `tests`, with the test files whose path contains one of the given texts. `--busy` sets
// the number of busy processes, and `--json` prints one JSON object per run and one with the summary. The exit code is 1 if fewer
// consecutive runs passed, and 2 if the series cannot be started or the repository changes during it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { countTests, failedTestNames } from './gate/vitest.mjs'
import { root } from './packages.mjs'
import { SupervisedProcess } from './servers/supervise.mjs'
import {
  consecutivePassed,
  failureCounts,
  formatSeries,
  runSeries,
  SeriesError,
} from './stability/series.mjs'

const REPORT = join(root, '.cache/vitest.json')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '20' },
    busy: { type: 'string', default: '2' },
    resume: { type: 'boolean', default: false },
    results: { type: 'string', default: join(root, '.cache/stability.json') },
    tests: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const count = Number(values.runs)
const busy = Number(values.busy)
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(busy) || busy < 0) {
  console.error('expected a whole number from 1 for --runs and from 0 for --busy')
  process.exit(2)
}
if (positionals.length > 0 && !values.tests) {
  console.error('expected --tests with the paths of test files')
  process.exit(2)
}

const VITEST = ['run', '--reporter=minimal', '--reporter=json', `--outputFile.json=${REPORT}`, ...positionals]
const [program, args] = values.tests
  ? [join(root, 'node_modules/.bin/vitest'), VITEST]
  : [process.execPath, [join(root, 'scripts/gate.mjs')]]

/** The output of the last run. */
let output = ''

/** Stores the output of a failed run, which has the errors of the tests. @param {import('./stability/series.mjs').Run} run */
function storeOutput({ start }) {
  const file = `${resolve(values.results).replace(/\.json$/, '')}-${start.slice(0, 19).replaceAll(':', '-')}.log`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, output)
  return file
}

/** Runs the command once and reads its results. @returns {Promise<import('./stability/series.mjs').Result>} */
async function runOnce() {
  rmSync(REPORT, { force: true })
  const start = performance.now()
  const child = new SupervisedProcess({ command: program, args, cwd: root, env: { NO_COLOR: '1' } })
  output = ''
  child.onOutput((text) => {
    output += text
  })
  await child.started
  const { code } = await child.exited
  const seconds = Math.round((performance.now() - start) / 1000)
  const failures = [...output.matchAll(/^FAILED {2}(.+?) +\d+\.\d s/gm)]
    .map(([, name]) => `step ${name}`)
    .filter((name) => name !== 'step tests')
  let counts = { passed: 0, failed: 0, skipped: 0 }
  try {
    const report = JSON.parse(readFileSync(REPORT, 'utf8'))
    counts = countTests(report)
    failures.unshift(...failedTestNames(report, root))
  } catch (error) {
    failures.push(`the report of vitest cannot be read: ${/** @type {Error} */ (error).message}`)
  }
  // The gate prints the sum of tests and steps in its last line.
  const [, passed, failed, skipped] = output.match(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/m) ?? []
  if (!values.tests && passed !== undefined)
    counts = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped ?? 0) }
  // Errors outside of tests also end vitest with an exit code.
  if (code !== 0 && failures.length === 0) failures.push(`exit code ${code}: ${output.trim().slice(-1000)}`)
  const { passed: ok, skipped: notRun } = counts
  return {
    seconds,
    passed: ok,
    failed: Math.max(counts.failed, failures.length),
    skipped: notRun,
    failures,
  }
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))

const loops = Array.from(
  { length: busy },
  () => new SupervisedProcess({ command: process.execPath, args: ['-e', 'for (;;);'], env: {} }),
)
await Promise.all(loops.map((loop) => loop.started))

try {
  const series = await runSeries({
    root,
    file: resolve(values.results),
    count,
    resume: values.resume,
    command: values.tests ? ['vitest run', ...positionals].join(' ') : 'npm test',
    busy,
    runOnce,
    onRun(run) {
      const { failures, seconds, passed, failed, skipped } = run
      const outputFile = failures.length === 0 ? undefined : storeOutput(run)
      if (values.json) return console.log(JSON.stringify({ ...run, ...(outputFile && { outputFile }) }))
      const mark = failures.length === 0 ? 'ok    ' : 'FAILED'
      console.log(
        `${mark} run ${run.run}: ${seconds} s, ${passed} passed, ${failed} failed, ${skipped} skipped`,
      )
      for (const failure of failures) console.log(`       ${failure}`)
      if (outputFile !== undefined) console.log(`       output: ${outputFile}`)
    },
    onNote: (text) => console.error(text),
  })
  const { version: _, runs, ...setting } = series
  const summary = {
    ...setting,
    runs: runs.length,
    failedRuns: runs.filter(({ failures }) => failures.length > 0).length,
    consecutivePassed: consecutivePassed(runs),
    failures: Object.fromEntries(failureCounts(runs)),
  }
  console.log(values.json ? JSON.stringify(summary) : `\n${formatSeries(series, count)}`)
  process.exitCode = summary.consecutivePassed >= count ? 0 : 1
} catch (error) {
  if (!(error instanceof SeriesError)) throw error
  console.error(error.message)
  process.exitCode = 2
} finally {
  await Promise.all(loops.map((loop) => loop.killAll()))
}
