import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { workerData } from 'node:worker_threads'
import { type Part, partsOfSeed } from './parts.js'
import { describeDifference } from './repeat.js'
import { formatFailure } from './report.js'
import { generateScenario } from './scenario/generate.js'
import { loadProblem } from './scenario/required-load.js'
import type { Scenario } from './scenario/scenario.js'
import { formatScenario, parseScenario, ScenarioFileError } from './scenario/scenario-file.js'
import { type FailingScenario, shrink } from './shrink.js'
import { type SimulationResult, simulate } from './simulate.js'
import { cpuSeconds, formatViolation, PROGRESS, type Progress } from './supervise.js'

/** Where the reduced scenarios of failing seeds are written, in the current folder. */
const SCENARIOS_FOLDER = '.cache/simulation'

const readOptions = () =>
  parseArgs({
    options: {
      seeds: { type: 'string', default: '100' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      'repeat-every': { type: 'string' },
      scenario: { type: 'string' },
      trace: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  }).values

const parseCount = (name: string, text: string): number => {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  console.error(`--${name}: expected a whole number, got ${text}`)
  process.exit(2)
}

/** Reads the scenario of a file, or ends the command with the problem. */
function readScenario(path: string): Scenario {
  try {
    return parseScenario(readFileSync(path, 'utf8'))
  } catch (error) {
    const isExpected = error instanceof ScenarioFileError || (error as { code?: string }).code !== undefined
    if (!isExpected) throw error
    console.error(`--scenario ${path}: ${(error as Error).message}`)
    process.exit(2)
  }
}

/** Writes a reduced scenario, so that it can become a regression test. Returns the path. */
function writeScenario(scenario: Scenario, isStored: boolean): string {
  mkdirSync(SCENARIOS_FOLDER, { recursive: true })
  const path = join(SCENARIOS_FOLDER, `${isStored ? 'scenario' : 'seed'}-${scenario.seed}.json`)
  writeFileSync(path, formatScenario(scenario))
  return path
}

/** Simulates seeds or the scenario of a file, prints the progress, and reduces the first one that fails. */
export async function runSeeds(): Promise<void> {
  const values = readOptions()
  const stored = values.scenario === undefined ? undefined : readScenario(values.scenario)
  const from = stored?.seed ?? parseCount('from', values.seed ?? values.from)
  const isSingle = stored !== undefined || values.seed !== undefined
  const count = isSingle ? 1 : parseCount('seeds', values.seeds)
  const repeatEvery = parseCount('repeat-every', values['repeat-every'] ?? '0')

  const startedAt = cpuSeconds()
  const { numbers, isTTY: isInteractive } = workerData as Progress
  const onEvent = (now: number) => {
    ;(numbers[PROGRESS.events] as number)++
    numbers[PROGRESS.virtualMs] = now
  }
  /** The CPU time of the simulations that repeat a seed, which is not a part of the time per seed. */
  let repeatSeconds = 0
  const totals = { events: 0, calls: 0, faults: 0 }
  const faultsByKind = new Map<string, number>()

  /** What was simulated so far, and how fast. */
  function progress(done: number): string {
    const used = cpuSeconds() - startedAt - repeatSeconds
    const rate = Math.round((done * 3600) / used)
    return `${done} of ${count} seeds, ${(used / done).toFixed(2)} s of CPU per seed, ${rate} seeds per core-hour`
  }

  /** Simulates a scenario a second time, and describes how its history differs; undefined if it does not. */
  async function repeat(
    { scenario, result }: FailingScenario,
    parts: readonly Part[] | undefined,
  ): Promise<string | undefined> {
    const repeatStartedAt = cpuSeconds()
    const difference = await describeDifference(result, scenario, { onEvent, parts })
    repeatSeconds += cpuSeconds() - repeatStartedAt
    return difference
  }

  function addTotals({ events, load, faultsByKind: kinds }: SimulationResult): void {
    totals.events += events
    totals.calls += load.calls
    totals.faults += load.faults
    for (const [kind, number] of kinds) faultsByKind.set(kind, (faultsByKind.get(kind) ?? 0) + number)
  }

  /** Prints a failure, and reduces its scenario unless another command reads the output. */
  async function reportFailure(
    { scenario, result }: FailingScenario,
    parts: readonly Part[] | undefined,
  ): Promise<void> {
    const { seed } = scenario
    const message = result.violation?.message ?? ''
    if (values.json) return console.log(formatViolation(seed, message))
    console.log(`${message}\nreducing seed ${seed} …`)
    const reduced = await shrink({ scenario, result }, { onEvent, parts })
    console.log(
      formatFailure(reduced, writeScenario(reduced.scenario, stored !== undefined), stored !== undefined),
    )
  }

  let hasFailed = false
  for (let done = 0; done < count && !hasFailed; done++) {
    const seed = from + done
    const scenario = stored ?? generateScenario(seed)
    numbers[PROGRESS.seed] = seed
    // A stored scenario can come from another series, so it runs all parts.
    const parts = stored === undefined ? partsOfSeed(seed) : undefined
    const result = await simulate(scenario, { record: values.trace, onEvent, parts })
    if (values.trace) console.log(result.lines.join('\n'))
    if (isSingle)
      console.log(
        `seed ${seed}: trace ${result.digest}, ${result.events} events, ${JSON.stringify(result.stats)}`,
      )
    addTotals(result)
    // With `--json` only violations count: a seed of a planted bug can have too few calls without one.
    const problem = stored !== undefined || values.json ? undefined : loadProblem(result.load)
    const isRepeated = result.violation === undefined && repeatEvery > 0 && (done + 1) % repeatEvery === 0
    const difference = isRepeated ? await repeat({ scenario, result }, parts) : undefined
    if (result.violation !== undefined) {
      hasFailed = true
      await reportFailure({ scenario, result }, parts)
    } else if (problem !== undefined) {
      hasFailed = true
      console.log(`seed ${seed} is too small: it executed ${problem}`)
    } else if (difference !== undefined) {
      hasFailed = true
      console.log(`seed ${seed} is not repeatable: ${difference}`)
    } else if (isInteractive) process.stdout.write(`\r${progress(done + 1)}`)
    else if ((done + 1) % 100 === 0) console.log(progress(done + 1))
  }
  if (hasFailed) {
    process.exitCode = 1
    return
  }
  const { events, calls, faults } = totals
  console.log(
    `${isInteractive ? '\r' : ''}${progress(count)}: ${events} events, ${calls} calls, ${faults} faults, no violation`,
  )
  const kinds = [...faultsByKind].toSorted(([a], [b]) => (a < b ? -1 : 1))
  console.log(`faults: ${kinds.map(([kind, number]) => `${kind} ${number}`).join(', ')}`)
}
