import { parseArgs } from 'node:util'
import { workerData } from 'node:worker_threads'
import { formatFailure } from './report.js'
import { generateScenario } from './scenario/generate.js'
import { faultKind } from './scenario/scenario.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'
import { cpuSeconds, formatViolation, PROGRESS, type Progress } from './supervise.js'

const readOptions = () =>
  parseArgs({
    options: {
      seeds: { type: 'string', default: '100' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
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

/** Simulates seeds, prints the progress, and reduces the first one that fails. */
export async function runSeeds(): Promise<void> {
  const values = readOptions()
  const from = parseCount('from', values.seed ?? values.from)
  const count = values.seed === undefined ? parseCount('seeds', values.seeds) : 1

  const startedAt = cpuSeconds()
  const { numbers, isTTY: isInteractive } = workerData as Progress
  const onEvent = (now: number) => {
    ;(numbers[PROGRESS.events] as number)++
    numbers[PROGRESS.virtualMs] = now
  }
  const totals = { events: 0, calls: 0, faults: 0 }
  const faultsByKind = new Map<string, number>()

  /** What was simulated so far, and how fast. */
  function progress(done: number): string {
    const used = cpuSeconds() - startedAt
    const rate = Math.round((done * 3600) / used)
    return `${done} of ${count} seeds, ${(used / done).toFixed(2)} s of CPU per seed, ${rate} seeds per core-hour`
  }

  let failedSeed: number | undefined
  for (let done = 0; done < count && failedSeed === undefined; done++) {
    const seed = from + done
    const scenario = generateScenario(seed)
    numbers[PROGRESS.seed] = seed
    const result = await simulate(scenario, { record: values.trace, onEvent })
    if (values.trace) console.log(result.lines.join('\n'))
    if (values.seed !== undefined)
      console.log(
        `seed ${seed}: trace ${result.digest}, ${result.events} events, ${JSON.stringify(result.stats)}`,
      )
    totals.events += result.events
    totals.calls += scenario.calls.length
    totals.faults += scenario.faults.length
    for (const fault of scenario.faults) {
      const kind = faultKind(fault)
      faultsByKind.set(kind, (faultsByKind.get(kind) ?? 0) + 1)
    }
    if (result.violation !== undefined) {
      failedSeed = seed
      if (values.json) console.log(formatViolation(seed, result.violation.message))
      else {
        console.log(`${result.violation.message}\nreducing seed ${seed} …`)
        console.log(formatFailure(seed, await shrink({ scenario, result }, { onEvent })))
      }
    } else if (isInteractive) process.stdout.write(`\r${progress(done + 1)}`)
    else if ((done + 1) % 100 === 0) console.log(progress(done + 1))
  }
  if (failedSeed === undefined) {
    const { events, calls, faults } = totals
    console.log(
      `${isInteractive ? '\r' : ''}${progress(count)}: ${events} events, ${calls} calls, ${faults} faults, no violation`,
    )
    const kinds = [...faultsByKind].toSorted(([a], [b]) => (a < b ? -1 : 1))
    console.log(`faults: ${kinds.map(([kind, number]) => `${kind} ${number}`).join(', ')}`)
  } else process.exitCode = 1
}
