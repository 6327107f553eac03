import { Worker } from 'node:worker_threads'
import { systemClock } from 'holdfast/internal'

/** The CPU time after which an event of a simulation counts as endless. Most events take less than a millisecond. */
const MAX_EVENT_CPU_SECONDS = 20

const CHECK_INTERVAL_MS = 1000

/** A seed that needs more memory has a leak. Seeds need less than 300 MB. */
const MAX_HEAP_MB = 2048

/** Most objects of a seed live for one event. With the usual size of the young
 * generation, garbage collection takes a third of the CPU time. */
const YOUNG_GENERATION_MB = 256

/** What the main thread passes to the thread of the seeds. */
export interface Progress {
  /** Whether the output is a terminal. */
  readonly isTTY: boolean
  /** The seed, the number of events and the virtual time, which the thread of the seeds writes and the main thread reads. */
  readonly numbers: Int32Array
}

/** The places in {@link Progress.numbers}. */
export const PROGRESS = { seed: 0, events: 1, virtualMs: 2 } as const

export const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** The line of a seed that fails, for the command that applies planted bugs. */
export const formatViolation = (seed: number, violation: string): string =>
  JSON.stringify({ seed, violation })

/** Runs seeds in a thread, and ends it if an event never ends or the memory grows without limit. */
export function superviseSeeds(script: URL): void {
  const json = process.argv.includes('--json')
  const numbers = new Int32Array(new SharedArrayBuffer(4 * Object.keys(PROGRESS).length))
  const workerData: Progress = { numbers, isTTY: process.stdout.isTTY }
  const worker = new Worker(script, {
    argv: process.argv.slice(2),
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  })
  let lastEvents = -1
  let lastSeed = -1
  let changedAt = cpuSeconds()

  const fail = (violation: string) => {
    const seed = numbers[PROGRESS.seed] as number
    console.log(json ? formatViolation(seed, violation) : `seed ${seed} fails: ${violation}`)
    process.exitCode = 1
  }
  let timer: unknown
  const watch = () => {
    const events = numbers[PROGRESS.events] as number
    const seed = numbers[PROGRESS.seed] as number
    if (events !== lastEvents || seed !== lastSeed) {
      lastEvents = events
      lastSeed = seed
      changedAt = cpuSeconds()
    } else if (cpuSeconds() - changedAt > MAX_EVENT_CPU_SECONDS) {
      const at = numbers[PROGRESS.virtualMs] as number
      fail(
        `hangs: the event after event ${events}, at ${at} ms or later, has not ended after ${MAX_EVENT_CPU_SECONDS} s of CPU: its code or its promises loop`,
      )
      void worker.terminate()
      return
    }
    timer = systemClock.setTimer(watch, CHECK_INTERVAL_MS)
  }
  watch()
  worker.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') fail(`memory: the heap has more than ${MAX_HEAP_MB} MB`)
    else {
      console.error(error)
      process.exitCode = 1
    }
  })
  worker.on('exit', (code) => {
    systemClock.clearTimer(timer)
    process.exitCode ||= code
  })
}
