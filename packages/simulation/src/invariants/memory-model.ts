import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import { VirtualClock } from '../engine/virtual-clock.js'
import { SimulatedLink } from '../network/network.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { PostgresSession } from '../substitutes/postgres/session.js'
import { measureState } from './state-size.js'

/** The work of a process that its workload knows. */
export interface ProcessWork {
  /** Calls and actions since the process started. */
  readonly startedCount: number
  /** Calls, actions and handlers that have not ended. */
  readonly activeCount: number
}

/** The largest number of elements in the collections of a class that is not named below, besides those of calls. At rest it has none. */
const OTHER_ELEMENTS = 12

/** The largest number of elements that an active call or handler adds to the collections of a class. */
const ELEMENTS_PER_ACTIVE_CALL = 16

/** The largest number of elements that a call adds until the store has its records: a session, events and errors wait in an outbox. */
const ELEMENTS_PER_CALL = 16

/** Classes that have elements at rest: fixed parts, parsed configuration, listeners, and metrics of the last hours. */
const REST_ELEMENTS_BY_CLASS: Readonly<Record<string, number>> = {
  // The examples for V8 refer to an operation, which has up to two breakers and a policy for one kind of failure.
  RuntimeCall: 3,
  // The subscriptions of the worker, and of the one that replays with `waitForBreaker` start.
  ReplayNotifications: 2,
  GuardExecutor: 2,
  AbortSignal: 4,
  DeadLetters: 4,
  Housekeeping: 3,
  CallLauncher: 3,
  LatencySketches: 4,
  // The breakers of services and of members.
  FleetBreakers: 8,
  PoolManager: 24,
  MemberFaults: 4,
  MemberCooldowns: 1,
  EjectedMembers: 1,
  BitSet: 1,
  // The members of the pool, and those that were not available until a time.
  SlotTable: 24,
  Availability: 4,
  TimeHeap: 16,
  // The breakers of services, those that are not closed, and the saved states of breakers that do not exist in this process, whose
  // rate windows have four numbers for each call.
  BreakerRegistry: 64,
  BreakerPersistence: 24,
  HandlerRegistry: 6,
  // One of the runtime for each breaker of a service (8) and of a member (4), and those of the models.
  Listeners: 24,
  PostgresDatabase: 6,
  // The known partitions of the five journals, with those of the days around midnight.
  Partitions: 16,
  Pool: 16,
  // Arrays of slots, which grow in steps.
  MemberBreakers: 48,
  // With the listeners of the models.
  EventBus: 17,
  DenseStore: 4096,
  LabelledValues: 200,
  // The blocks of all series, which each operation and policy of the configuration has. Steps of the clock over the start of a
  // block add a second one to those of the busy operations.
  TimeSeries: 200,
  LatencyLog: 60,
  OperationRecorder: 96,
  OperationCompiler: 80,
  // The results of the last minute.
  OutcomeWindow: 400,
  // The columns of the tables.
  JournalBuffer: 10,
  SessionBuffer: 6,
  // Listeners of the five connections to the store.
  Client: 64,
  Redis: 40,
  CallObservers: 24,
  ActiveConfig: 40,
  // The bulkheads and budgets of the policies that have them.
  PolicyLimits: 6,
  // The settings of the budget.
  FleetRetryBudget: 3,
  // One line for each different warning, of which the runtime keeps at most 1,000.
  StoreBackedContext: 1016,
}

/** The largest number of objects of a process without work, and how many an active call and a call with waiting records add. */
const REST_OBJECTS = 1900
const OBJECTS_PER_ACTIVE_CALL = 100
const OBJECTS_PER_CALL = 100

/** The classes of which each call has an object while it runs. */
const CALL_CLASSES = [
  'RuntimeCall',
  'TrackedFirstAttempt',
  'PassthroughCall',
  'Execution',
  'FirstAttempt',
  'AttemptLog',
  'AttemptContext',
  'ExecutionDeadlines',
  'RetryWait',
  'Slot',
  'HedgedAttempt',
  'FallbackRun',
  'OperationAdmission',
] as const

/** How many objects of each of these classes a process has without calls, as examples for V8 and for a replay that waits, and with them. */
const REST_CALL_OBJECTS = 8
const CALL_OBJECTS_PER_ACTIVE_CALL = 3

/** The largest number of timers of a process without work, and how many an active call adds. */
const REST_TIMERS = 60
const TIMERS_PER_ACTIVE_CALL = 8

const limitOf = (name: string, isAtRest: boolean): number => {
  const rest = REST_ELEMENTS_BY_CLASS[name] ?? 0
  return isAtRest ? rest : Math.max(rest, OTHER_ELEMENTS)
}

/**
 * The parts of a store that are not counted. The store in files has an index of all entries, whose size depends on what is stored and
 * not on the work of the process. The descriptions of the journals in PostgreSQL are constants of the package.
 */
function partsNotCounted({ store }: Holdfast): ReadonlySet<unknown> {
  const parts: unknown[] = Object.values(store)
  return new Set(
    store.kind === 'files'
      ? [store, ...parts]
      : parts.map((part) => (part as { table?: unknown } | undefined)?.table),
  )
}

/** What a process uses and does not own. The server's side of a connection can have a transaction at any time. */
const isOutsideOfProcess = (value: unknown): boolean =>
  value instanceof VirtualClock || value instanceof SimulatedLink || value instanceof PostgresSession

/**
 * The promise that memory is bounded. The limits follow from the work of a process: configuration and metrics have a fixed size,
 * each active call has a few objects, and the records of a call wait until the store has them. At rest nothing of a call remains.
 */
export class MemoryModel {
  /** The largest sizes that were seen. */
  readonly largest = { objects: 0, timers: 0 }
  private readonly workOf: (process: Process) => ProcessWork

  constructor(workOf: (process: Process) => ProcessWork) {
    this.workOf = workOf
  }

  /** Checks the timers, which is cheap enough for every event. */
  checkTimers(nodes: readonly SimulatedNode[]): void {
    for (const { process } of nodes) {
      if (process === undefined) continue
      const { timerCount } = process.clock
      if (timerCount > this.largest.timers) this.largest.timers = timerCount
      if (timerCount <= REST_TIMERS) continue
      const { activeCount } = this.workOf(process)
      const limit = REST_TIMERS + TIMERS_PER_ACTIVE_CALL * activeCount
      if (timerCount > limit)
        throw new Violation(
          'memory',
          `${process.name} has ${timerCount} timers and ${activeCount} active calls: expected at most ${limit}`,
        )
    }
  }

  /** Checks all reachable state. With `isAtRest` no record may wait for the store any more. */
  checkState(nodes: readonly SimulatedNode[], isAtRest: boolean): void {
    for (const { process } of nodes)
      if (process?.runtime !== undefined) this.checkProcess(process, process.runtime, isAtRest)
  }

  private checkProcess(process: Process, runtime: Holdfast, isAtRest: boolean): void {
    const { startedCount, activeCount } = this.workOf(process)
    const storeParts = partsNotCounted(runtime)
    const { objects, elements, instances } = measureState(
      runtime,
      (value) => isOutsideOfProcess(value) || (value !== undefined && storeParts.has(value)),
    )
    if (objects > this.largest.objects) this.largest.objects = objects
    const waitingCount = isAtRest ? 0 : startedCount
    const work = `${activeCount} active of ${startedCount} calls${isAtRest ? ', at rest' : ''}`
    const check = (name: string, count: number, limit: number) => {
      if (count > limit)
        throw new Violation(
          'memory',
          `${process.name} has ${count} ${name} with ${work}: expected at most ${limit}`,
        )
    }
    const objectLimit = REST_OBJECTS + OBJECTS_PER_ACTIVE_CALL * activeCount + OBJECTS_PER_CALL * waitingCount
    check('objects', objects, objectLimit)
    const callLimit = REST_CALL_OBJECTS + CALL_OBJECTS_PER_ACTIVE_CALL * activeCount
    for (const name of CALL_CLASSES) check(`objects of ${name}`, instances.get(name) ?? 0, callLimit)
    const added = ELEMENTS_PER_ACTIVE_CALL * activeCount + ELEMENTS_PER_CALL * waitingCount
    for (const [name, count] of elements) check(`elements in ${name}`, count, limitOf(name, isAtRest) + added)
  }
}
