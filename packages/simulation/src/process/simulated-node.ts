import type { Holdfast } from '@holdfast/runtime'
import type { Store } from '@holdfast/store'
import type { Clock, Random } from 'holdfast'
import { openRuntime, type RuntimePorts } from '../../../runtime/src/holdfast/holdfast.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { VirtualClock } from '../engine/virtual-clock.js'

/** How long a process waits before it starts again if it could not start. */
const START_RETRY_MS = 20_000

/** The polls of the configuration would be most of the events. */
const REFRESH_INTERVAL_MS = 20_000

/** One life of a process: its clock, its connections and its runtime. */
export interface Process {
  /** The node and the number of the process, such as `n1.3`. */
  readonly name: string
  readonly clock: VirtualClock
  readonly random: Random
  /** Absent until the runtime is open. */
  runtime: Holdfast | undefined
  /** False after the process has died. */
  isAlive: boolean
  /** Ends the connections of the process. */
  readonly onKilled: (() => void)[]
}

/** The servers of a process. */
export interface ProcessPorts {
  readonly config: object
  readonly openStore: () => Promise<Store>
  readonly redisDriver?: RuntimePorts['redisDriver']
}

/** The surroundings of a process. */
export interface ProcessEnvironment {
  connect(process: Process): ProcessPorts
  /** The current event calls code of the process. */
  onEntered(process: Process): void
  onStarted(process: Process, runtime: Holdfast): void
  onStartFailed(process: Process, error: unknown): void
}

/** A machine on which one process after another runs. Its clock stays wrong when the process starts again. */
export class SimulatedNode {
  readonly name: string
  process: Process | undefined = undefined
  /** The error of the machine's wall time, and its rate. */
  wallError = 0
  private rate = 1
  private starts = 0
  private isStartPending = false
  private readonly scheduler: Scheduler
  private readonly choices: Choices
  private readonly environment: ProcessEnvironment
  private readonly refreshInterval: number

  constructor(
    name: string,
    scheduler: Scheduler,
    choices: Choices,
    environment: ProcessEnvironment,
    refreshInterval = REFRESH_INTERVAL_MS,
  ) {
    this.refreshInterval = refreshInterval
    this.name = name
    this.scheduler = scheduler
    this.choices = choices
    this.environment = environment
  }

  /** The runtime; undefined while the process is down or starting. */
  get runtime(): Holdfast | undefined {
    return this.process?.runtime
  }

  /** Starts a process. A process that cannot start, because its store is not available for example, is started again later. */
  start(): void {
    if (this.process !== undefined) return
    this.isStartPending = false
    const clock = new VirtualClock(this.scheduler, () => this.environment.onEntered(process))
    clock.correctWall()
    clock.stepWall(this.wallError)
    clock.wallStepCount = 0
    clock.drift(this.rate)
    const process: Process = {
      name: `${this.name}.${++this.starts}`,
      clock,
      random: this.choices.fork().random,
      runtime: undefined,
      isAlive: true,
      onKilled: [],
    }
    this.process = process
    const { config, openStore, redisDriver } = this.environment.connect(process)
    const options = { config, env: {}, watch: false, clock: clock as Clock, random: process.random }
    // The size of a record decides how a write to a disk fails, so no name may depend on the machine of the simulation.
    const identity = { hostname: this.name, pid: this.starts }
    const { refreshInterval } = this
    const ports = { openStore, redisDriver, refreshInterval, identity }
    openRuntime(options, ports).then(
      (runtime) => {
        if (!process.isAlive) return
        process.runtime = runtime
        this.environment.onStarted(process, runtime)
      },
      (error: unknown) => {
        if (!process.isAlive) return
        this.environment.onStartFailed(process, error)
        this.kill()
        this.startLater(START_RETRY_MS)
      },
    )
  }

  /** Starts a process after a time, unless one runs by then. */
  startLater(ms: number): void {
    if (this.isStartPending) return
    this.isStartPending = true
    this.scheduler.schedule(ms, () => {
      if (this.isStartPending) this.start()
    })
  }

  /** Ends the process at once, as `kill -9` does: no code of it runs any more. */
  kill(): void {
    const { process } = this
    if (process === undefined) return
    process.isAlive = false
    process.runtime = undefined
    process.clock.stop()
    for (const end of process.onKilled) end()
    this.process = undefined
  }

  /** Moves the wall time of the machine. */
  stepClock(ms: number): void {
    this.wallError += ms
    this.process?.clock.stepWall(ms)
  }

  /** Sets the clock of the machine right again. */
  correctClock(): void {
    this.wallError = 0
    this.rate = 1
    this.process?.clock.drift(1)
    this.process?.clock.correctWall()
  }

  /** Changes the speed of the machine's clock. */
  driftClock(rate: number): void {
    this.rate = rate
    this.process?.clock.drift(rate)
  }
}
