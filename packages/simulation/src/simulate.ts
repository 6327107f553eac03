import { FINAL_CLOSE_MS, FinalClose } from './cluster/final-close.js'
import { runInMacrotask } from './engine/microtasks.js'
import { EventLimitError, Scheduler } from './engine/scheduler.js'
import { Choices } from './engine/seeded-random.js'
import { Violation } from './engine/violation.js'
import { checkAtEnd, checkClosed } from './hour/end-checks.js'
import { Models } from './hour/models.js'
import { planHour } from './hour/plan.js'
import { Run } from './hour/run.js'
import { collectStats } from './hour/stats.js'
import { PARTS, type Part, type PartsResult, runParts } from './parts.js'
import { DURATION_MS, type Scenario } from './scenario/scenario.js'
import { loadRealDriver } from './sqlite/simulated-database.js'
import { Trace } from './trace.js'

/** The result of a simulation. */
export interface SimulationResult {
  readonly seed: number
  /** The first promise that was not kept. */
  readonly violation: Violation | undefined
  /** Identifies everything that happened. */
  readonly digest: string
  /** What happened, if it was recorded. */
  readonly lines: readonly string[]
  readonly events: number
  /** The virtual time of the end. */
  readonly endedAt: number
  /** How much of the scenario was executed. */
  readonly load: ExecutedLoad
  /** The number of faults that had an effect, by kind. */
  readonly faultsByKind: ReadonlyMap<string, number>
  readonly stats: Record<string, number>
}

/** What a simulation has executed: the actions that were made, and the faults that had an effect. */
export interface ExecutedLoad {
  readonly nodes: number
  readonly calls: number
  readonly faults: number
}

/** Ends the run of the scheduler. */
class Stop extends Error {}

/** The options of a simulation. */
export interface SimulationOptions {
  /** Whether the lines of the trace are kept. */
  readonly record?: boolean | undefined
  /** Called after each event with the virtual time. */
  readonly onEvent?: ((now: number) => void) | undefined
  /** What runs before the hour of the cluster. @defaultValue all parts */
  readonly parts?: readonly Part[] | undefined
}

/** A function that runs a scenario. */
export type Simulate = (scenario: Scenario, options: SimulationOptions) => Promise<SimulationResult>

/** Runs a scenario. Several simulations must not run at the same time in one process, because they share `console`. */
export async function simulate(
  scenario: Scenario,
  { record = false, onEvent, parts = PARTS }: SimulationOptions = {},
): Promise<SimulationResult> {
  const choices = new Choices(scenario.seed ^ 0x5eed)
  const scheduler = new Scheduler(choices.fork().random)
  const trace = new Trace(record)
  const run = new Run(scenario, scheduler, choices, trace)
  const openSqlite = scenario.sqliteNodes.length > 0 ? await loadRealDriver() : undefined
  const models = new Models(run, openSqlite)
  const { cluster, workload } = models
  const executed = planHour(run, models)
  cluster.start()
  const onEventEnded = () => {
    cluster.crashes.onEventEnded()
    if (run.violation !== undefined) throw new Stop()
    models.onEventEnded()
    onEvent?.(scheduler.now)
  }
  let ended: PartsResult | undefined
  const restore = redirectErrors(run, record)
  try {
    ended = await runParts(scenario.seed, parts, {
      addTrace: (now, subject, text) => trace.add(now, subject, text),
      onEvent,
    })
    if (ended.violation !== undefined) throw ended.violation
    await runInMacrotask(() => scheduler.runUntil(DURATION_MS, onEventEnded))
    checkAtEnd(models)
    const finalClose = new FinalClose(scheduler)
    models.policies.isFinal = true
    await runInMacrotask(() => {
      finalClose.start(cluster)
      scheduler.runUntil(DURATION_MS + FINAL_CLOSE_MS, onEventEnded)
    })
    finalClose.check()
    checkClosed(models)
  } catch (error) {
    if (error instanceof Violation) run.report(error)
    else if (error instanceof EventLimitError) run.report(new Violation('hangs', error.message))
    else if (!(error instanceof Stop)) throw error
  } finally {
    restore()
    cluster.remove()
  }
  const { effects } = executed.injector
  return {
    seed: scenario.seed,
    violation: run.violation,
    digest: trace.digest(),
    lines: trace.lines,
    events: scheduler.eventCount,
    endedAt: scheduler.now,
    load: {
      nodes: cluster.nodes.length,
      calls: executed.startedCalls - workload.counts.idle,
      faults: effects.count,
    },
    faultsByKind: effects.byKind,
    stats: {
      ...collectStats(models),
      faults: effects.count,
      busiestSecond: scheduler.maxPeriodCount,
      ...ended?.stats,
    },
  }
}

/** Reports rejections that are not handled, and adds lines on stderr to the trace. Returns a function that ends both. */
function redirectErrors({ report, addTrace }: Run, keepStacks: boolean): () => void {
  const onUnhandled = (error: unknown) =>
    report(
      new Violation('unhandled', `a rejection was not handled: ${String((error as Error)?.stack ?? error)}`),
    )
  const { error: consoleError } = console
  const { stackTraceLimit } = Error
  // Thousands of simulated failures are errors, and their stacks would take most of the time.
  if (!keepStacks) Error.stackTraceLimit = 0
  console.error = (...args: unknown[]) => addTrace('stderr', args.join(' '))
  process.on('unhandledRejection', onUnhandled)
  return () => {
    process.off('unhandledRejection', onUnhandled)
    console.error = consoleError
    Error.stackTraceLimit = stackTraceLimit
  }
}
