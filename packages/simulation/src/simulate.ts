import type { Store } from '@holdfast/store'
import { Cluster, type NodeDisk, QUEUE_PREFIX } from './cluster/cluster.js'
import { FINAL_CLOSE_MS, FinalClose } from './cluster/final-close.js'
import { FaultInjector } from './cluster/inject.js'
import { DeadLetterModel } from './dead-letters/dead-letter-model.js'
import { QueueContract } from './dead-letters/queue-contract.js'
import { runInMacrotask } from './engine/microtasks.js'
import { EventLimitError, Scheduler } from './engine/scheduler.js'
import { Choices } from './engine/seeded-random.js'
import { Violation } from './engine/violation.js'
import { START_WALL_MS } from './engine/virtual-clock.js'
import { BreakerModel } from './invariants/breaker-model.js'
import { BudgetModel } from './invariants/budget-model.js'
import { checkConnections } from './invariants/connection-model.js'
import { FleetEventModel } from './invariants/fleet-event-model.js'
import { FLEET_CHECK_INTERVAL_MS, FleetModel } from './invariants/fleet-model.js'
import { checkFleetAtRest } from './invariants/fleet-rest-model.js'
import { HousekeepingModel } from './invariants/housekeeping-model.js'
import { MemberChangeModel } from './invariants/member-change-model.js'
import { MemoryModel } from './invariants/memory-model.js'
import { NaiveBreakerModel } from './invariants/naive-breaker-model.js'
import { OpeningModel } from './invariants/opening-model.js'
import { PermitModel } from './invariants/permit-model.js'
import { PoolModel } from './invariants/pool-model.js'
import { RecordModel } from './invariants/record-model.js'
import { SavedBreakerModel } from './invariants/saved-breaker-model.js'
import { PARTS, type Part } from './parts.js'
import { PolicyContract } from './policies/policy-contract.js'
import type { Process } from './process/simulated-node.js'
import { Upstreams } from './process/upstreams.js'
import { DRILL_SLOT_MS, planDrill, planDrillFault, TRIP_KNOWN_MS } from './scenario/drill.js'
import {
  CALLS_END_MS,
  DRILL_START_MS,
  DURATION_MS,
  FAULTS_END_MS,
  type Scenario,
} from './scenario/scenario.js'
import { runSmallCluster, type SmallClusterResult } from './small-cluster/index.js'
import { runSmallFleet, type SmallFleetResult } from './small-fleet/small-fleet.js'
import { runMemoryHistory } from './sqlite/memory-history.js'
import { loadRealDriver } from './sqlite/simulated-database.js'
import { runSqliteHistory } from './sqlite/sqlite-history.js'
import { runTurnHistory } from './sqlite/turn-history.js'
import { runFilesHistory } from './store-history/files-history.js'
import { Trace } from './trace.js'
import { Workload } from './workload/workload.js'

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

/** A requested replay is made within this time after the last fault. */
const SERVED_WITHIN_MS = 600_000

/** How often a node checks the contract of its queue. */
const CONTRACT_INTERVAL_MS = 20_000

/** How often a node checks the contract of its policies. */
const POLICY_INTERVAL_MS = 160_000

/** How often all of the state is checked. */
const CHECK_INTERVAL_MS = 200_000

/** From this time on all nodes agree about the breakers. The last faults end 400 s after the last one begins. */
const CONVERGED_MS = FAULTS_END_MS + 800_000

/** The histories of single stores. */
const STORE_HISTORIES = [runFilesHistory, runMemoryHistory, runSqliteHistory, runTurnHistory]

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

/** Runs a scenario. Several simulations must not run at the same time in one process, because they share `console`. */
export async function simulate(
  scenario: Scenario,
  { record = false, onEvent, parts = PARTS }: SimulationOptions = {},
): Promise<SimulationResult> {
  const choices = new Choices(scenario.seed ^ 0x5eed)
  const scheduler = new Scheduler(choices.fork().random)
  const trace = new Trace(record)
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  const addTrace = (subject: string, text: string) => trace.add(scheduler.now, subject, text)
  const check = (fn: () => void) => {
    try {
      fn()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      report(error)
    }
  }

  const upstreams = new Upstreams()
  const deadLetters: DeadLetterModel = new DeadLetterModel({
    couldRenew: (process) => cluster.couldRenew(process),
    areClocksRight: () => cluster.areClocksRight(),
    now: () => scheduler.now,
    isInFallback: (id, payload) =>
      [...cluster.fallbacks.values()].some(({ model }) => model.hasKept(id, payload)),
    originalOf: (id) => cluster.originalOf(id),
  })
  const breakers = new BreakerModel(check, addTrace, () => scheduler.now)
  const openings = new OpeningModel(check, () => scheduler.now, scenario.persists)
  const records = new RecordModel()
  const housekeeping = new HousekeepingModel(() => scheduler.now)
  const permits = new PermitModel()
  const naiveBreakers = new NaiveBreakerModel(check)
  const budgets = new BudgetModel(check)
  const pools = new PoolModel(check, scenario)
  const storeOf = (process: string) => cluster.storeOf(process)
  const memberChanges = new MemberChangeModel(scheduler, storeOf)
  const saved = new SavedBreakerModel(scheduler, storeOf, scenario)
  const workload = new Workload({
    openings,
    permits,
    pools,
    memberChanges,
    scheduler,
    upstreams,
    queueOf: (process) => cluster.ownQueueOf(process.name) ?? deadLetters,
    trace: addTrace,
    check,
  })
  const policyChoices = new Choices(scenario.seed ^ 0x90_11c7)
  const policies = new PolicyContract({
    scheduler,
    check,
    trace: addTrace,
    isIdle: (process) => workload.records.workOf(process).activeCount === 0,
    onActive: (process, change) => workload.records.countContractCall(process, change),
  })
  const isOnServer = (process: Process) => !cluster.disks.has(nodeOf(process.name))
  const openSqlite = scenario.sqliteNodes.length > 0 ? await loadRealDriver() : undefined
  const cluster = new Cluster(
    scheduler,
    choices,
    scenario,
    {
      onStarted: (process, runtime) => {
        addTrace(process.name, 'started')
        workload.onStarted(process, runtime)
        breakers.onStarted(process, runtime)
        openings.onStarted(process, runtime)
        records.onStarted(process, runtime)
        permits.onStarted(process, runtime)
        naiveBreakers.onStarted(process, runtime)
        fleet.onStarted(process, runtime)
        budgets.onStarted(process, runtime)
        fleetEvents.onStarted(process, runtime)
        pools.onStarted(process, runtime)
        policies.onStarted(process, runtime)
        check(() => saved.onStarted(process, runtime))
        check(() => cluster.ownQueueOf(process.name)?.checkAll())
      },
      onStartFailed: (process, error) => addTrace(process.name, `did not start: ${String(error)}`),
      onKilled: (process) => {
        addTrace(process.name, 'ended')
        deadLetters.onProcessEnded(process.name)
        records.onKilled(process)
        pools.onKilled(process)
        policies.onKilled(process)
        saved.onKilled(process.name)
        fleetEvents.onKilled(process)
        const node = nodeOf(process.name)
        const isLying = cluster.disks.get(node)?.disk.isLying === true
        contracts.get(node)?.onProcessEnded(isLying)
        if (!isLying) return
        memberChanges.onDiskLied(node)
        saved.onDiskLied(node)
      },
      onClosing: (process) => {
        saved.onClosing(process.name)
        policies.onClosing(process, policyChoices)
      },
      onClosed: (process) => {
        check(() => saved.onClosed(process.name))
        const wasStoreAvailable = cluster.couldRenew(process.name)
        policies.onClosed(process, wasStoreAvailable)
        if (isOnServer(process)) check(() => records.checkClosed(process, wasStoreAvailable))
      },
      onSessionsWritten: (process, sessions) => policies.onSessionsWritten(process, sessions),
      onBreakersLoad: (process) => {
        const onLoaded = saved.onLoad(process)
        return (rows) => check(() => onLoaded(rows))
      },
      onBreakersSaved: (process, rows) => {
        let result: ReturnType<SavedBreakerModel['onSave']> | undefined
        check(() => {
          result = saved.onSave(process, rows)
        })
        return result
      },
      onStoreExecuted: (process, method, args, result) => {
        addTrace('store', `${process} ${method}`)
        housekeeping.onExecuted(process, method)
        if (method === 'metrics.expire') check(() => records.onExpired(process, 'metrics', Number(result)))
        if (method.startsWith(QUEUE_PREFIX))
          check(() => deadLetters.onExecuted(process, method.slice(QUEUE_PREFIX.length), args, result))
      },
      onAppend: (process, journal, added) => {
        let observer: ReturnType<RecordModel['onAppend']>
        check(() => {
          observer = records.onAppend(process, journal, added)
        })
        return (
          observer && {
            onAcknowledged: () => check(() => observer?.onAcknowledged()),
            onFailed: () => observer?.onFailed(),
          }
        )
      },
      onInserted: (process, journal, bodies, isLate) => {
        addTrace('store', `${process} ${journal}.insert ${bodies.length}`)
        check(() => records.onInserted(process, journal, bodies, isLate))
      },
      onLost: (journal, bodies) => records.onLost(journal, bodies),
      onExpired: (process, journal, count) => {
        housekeeping.onExecuted(process, `${journal}.expire`)
        check(() => records.onExpired(process, journal, count))
      },
      isInDatabase: (id) => deadLetters.find(id) !== undefined,
      onSqliteResolved: (process, method, args, result) => {
        addTrace('sqlite', `${process.name} ${method}`)
        housekeeping.onExecuted(process.name, method)
        check(() => records.onExecuted(process.name, method, args, result))
      },
      onUnflushedLost: (node) => {
        saved.onDiskLied(node)
        check(() => cluster.databases.get(node)?.records.checkAll())
      },
      onThreadEnded: (node) => contracts.get(node)?.onCallRepeated(),
      check,
      onDiskUsed: (process, method, checkUse) => {
        addTrace('disk', `${process} deadLetters.${method}`)
        check(checkUse)
      },
      onDiskWarning: (process, line) => addTrace('disk', `${process} ${line}`),
    },
    openSqlite,
  )
  const fleet = new FleetModel(
    { redis: cluster.redis, redisNow: () => cluster.now(), now: () => scheduler.now },
    scenario,
  )
  const fleetEvents = new FleetEventModel(cluster.redis, check, () => scheduler.now, false)
  const contracts = new Map(
    cluster.nodes.map(({ name }) => [
      name,
      new QueueContract(name, choices.fork(), !cluster.disks.has(name)),
    ]),
  )
  const memory = new MemoryModel((process) => workload.records.workOf(process))
  const injector = new FaultInjector(scheduler, cluster, upstreams, (text) => addTrace('fault', text))

  for (const fault of scenario.faults)
    scheduler.schedule(fault.at, () => {
      injector.inject(fault)
      const isLoss = fault.kind === 'server_crash' && fault.loss !== 'nothing'
      if (isLoss && fault.server === 'redis') breakers.onRedisLostData()
    })
  const drill = planDrill(cluster.nodes.length)
  const drainAt = DRILL_START_MS + cluster.nodes.length * DRILL_SLOT_MS
  /** Calls of the scenario that were started. Those of the drill do not count. */
  let startedCalls = 0
  for (const [number, call] of [...scenario.calls, ...drill].entries())
    scheduler.schedule(call.at, () => {
      // As behind a load balancer, another node makes the calls of one that is down.
      const { length } = cluster.nodes
      const nodes = cluster.nodes.map((_, offset) => cluster.nodes[(call.node + offset) % length])
      const { process, runtime } = nodes.find((node) => node?.runtime !== undefined) ?? {}
      if (process === undefined || runtime === undefined) {
        workload.counts.skipped++
        return
      }
      if (number < scenario.calls.length) startedCalls++
      cluster.crashes.enter(nodeOf(process.name))
      workload.start(process, runtime, call, number)
    })
  for (const [at, { name }] of cluster.nodes.entries()) {
    const { at: faultAt, partitionMs } = planDrillFault(at, choices)
    scheduler.schedule(faultAt, () => {
      if (partitionMs === undefined) return cluster.network.reset(name, 'redis')
      cluster.network.partition(name, 'redis')
      scheduler.schedule(partitionMs, () => cluster.network.heal(name, 'redis'))
    })
    scheduler.schedule(DRILL_START_MS + at * DRILL_SLOT_MS + TRIP_KNOWN_MS, () =>
      check(() => {
        breakers.checkTripped(cluster.nodes, name)
        pools.checkCooldownKnown(cluster.nodes, name)
      }),
    )
  }
  for (let slot = 1; slot <= cluster.nodes.length; slot++)
    scheduler.schedule(DRILL_START_MS + slot * DRILL_SLOT_MS - 1000, () =>
      check(() => breakers.checkConverged(cluster.nodes)),
    )
  for (let at = CHECK_INTERVAL_MS; at < DRILL_START_MS; at += CHECK_INTERVAL_MS)
    scheduler.schedule(at, () =>
      check(() => {
        memory.checkState(cluster.nodes, false)
        checkConnections(cluster.nodes)
        workload.records.checkCounters(cluster.nodes, false)
        pools.checkCounters()
        if (at < CONVERGED_MS) return
        breakers.checkConverged(cluster.nodes)
        memberChanges.checkConverged(cluster.nodes)
      }),
    )
  for (let at = FLEET_CHECK_INTERVAL_MS; at < DRILL_START_MS; at += FLEET_CHECK_INTERVAL_MS)
    scheduler.schedule(at, () =>
      check(() => {
        fleet.check(cluster.nodes)
        fleetEvents.checkSent(cluster.nodes)
        saved.checkPassed(cluster.nodes)
      }),
    )
  for (let at = CONTRACT_INTERVAL_MS; at < DURATION_MS - CONTRACT_INTERVAL_MS; at += CONTRACT_INTERVAL_MS)
    scheduler.schedule(at, () => {
      for (const { name, process, runtime } of cluster.nodes) {
        if (process === undefined || runtime === undefined) continue
        const contract = contracts.get(name)
        if (cluster.disks.get(name)?.disk.isLying) contract?.forgetAll()
        else {
          cluster.crashes.enter(name)
          const queue = queueWithoutFallback(runtime.store)
          void contract?.step(queue, process.clock.wall(), check, () => process.isAlive)
        }
      }
    })
  for (const [at, node] of cluster.nodes.entries())
    for (
      let startAt = 3000 + (at / cluster.nodes.length) * POLICY_INTERVAL_MS;
      startAt < DURATION_MS - POLICY_INTERVAL_MS;
      startAt += POLICY_INTERVAL_MS
    )
      scheduler.schedule(startAt, () => {
        const { process, runtime } = node
        if (process === undefined || runtime === undefined) return
        cluster.crashes.enter(node.name)
        policies.startGroup(process, policyChoices)
      })
  cluster.start()

  const onEventEnded = () => {
    cluster.crashes.onEventEnded()
    if (violation !== undefined) throw new Stop()
    memory.checkTimers(cluster.nodes)
    permits.check(cluster.nodes)
    fleet.checkLeases(cluster.nodes)
    openings.onEventEnded()
    pools.onEventEnded()
    policies.onEventEnded()
    cluster.checkFallbacks()
    onEvent?.(scheduler.now)
  }
  const onUnhandled = (error: unknown) =>
    report(
      new Violation('unhandled', `a rejection was not handled: ${String((error as Error)?.stack ?? error)}`),
    )
  const { error: consoleError } = console
  const { stackTraceLimit } = Error
  // Thousands of simulated failures are errors, and their stacks would take most of the time.
  if (!record) Error.stackTraceLimit = 0
  console.error = (...args: unknown[]) => addTrace('stderr', args.join(' '))
  process.on('unhandledRejection', onUnhandled)
  let smallCluster: SmallClusterResult | undefined
  let smallFleet: SmallFleetResult | undefined
  try {
    for (const runHistory of parts.includes('store histories') ? STORE_HISTORIES : []) {
      const found = await runHistory(scenario.seed, (at, subject, text) => trace.add(at, subject, text))
      if (found !== undefined) throw found
    }
    if (parts.includes('small cluster'))
      smallCluster = await runInMacrotask(() =>
        runSmallCluster(scenario.seed, (now, subject, text) => trace.add(now, subject, text), onEvent),
      )
    if (smallCluster?.violation !== undefined) throw smallCluster.violation
    smallFleet = await runInMacrotask(() =>
      runSmallFleet(scenario.seed, (now, subject, text) => trace.add(now, subject, text), onEvent),
    )
    if (smallFleet.violation !== undefined) throw smallFleet.violation
    await runInMacrotask(() => scheduler.runUntil(DURATION_MS, onEventEnded))
    deadLetters.checkAll((id) => cluster.readEntry(id))
    deadLetters.checkMoved()
    for (const [node, { model }] of cluster.fallbacks) model.checkEmpty(node)
    deadLetters.checkServed(CALLS_END_MS - SERVED_WITHIN_MS)
    deadLetters.checkAllCompleted(drainAt)
    for (const { queue: model, records: stored } of cluster.databases.values()) {
      model.checkAll()
      model.checkServed(START_WALL_MS + CALLS_END_MS - SERVED_WITHIN_MS)
      model.checkAllCompleted(START_WALL_MS + drainAt)
      stored.checkAll()
    }
    for (const { model } of cluster.disks.values()) {
      model.checkAll()
      model.checkServed(START_WALL_MS + CALLS_END_MS - SERVED_WITHIN_MS)
      model.checkAllCompleted(START_WALL_MS + drainAt)
    }
    breakers.checkConverged(cluster.nodes)
    memberChanges.checkConverged(cluster.nodes)
    pools.checkCounters()
    pools.checkAvailable(cluster.nodes)
    checkFleetAtRest(cluster.nodes)
    budgets.checkAtRest(cluster.nodes)
    workload.records.checkCounters(cluster.nodes, true)
    records.checkWritten(cluster.nodes, isOnServer)
    housekeeping.check(cluster.nodes, isOnServer)
    checkConnections(cluster.nodes)
    memory.checkState(cluster.nodes, true)
    const finalClose = new FinalClose(scheduler)
    policies.isFinal = true
    await runInMacrotask(() => {
      finalClose.start(cluster)
      scheduler.runUntil(DURATION_MS + FINAL_CLOSE_MS, onEventEnded)
    })
    finalClose.check()
  } catch (error) {
    if (error instanceof Violation) report(error)
    else if (error instanceof EventLimitError) report(new Violation('hangs', error.message))
    else if (!(error instanceof Stop)) throw error
  } finally {
    process.off('unhandledRejection', onUnhandled)
    console.error = consoleError
    Error.stackTraceLimit = stackTraceLimit
    cluster.remove()
  }
  return {
    seed: scenario.seed,
    violation,
    digest: trace.digest(),
    lines: trace.lines,
    events: scheduler.eventCount,
    endedAt: scheduler.now,
    load: {
      nodes: cluster.nodes.length,
      calls: startedCalls - workload.counts.idle,
      faults: injector.effects.count,
    },
    faultsByKind: injector.effects.byKind,
    stats: {
      ...workload.counts,
      faults: injector.effects.count,
      acknowledged: deadLetters.acknowledgedCount,
      completed: deadLetters.completedCount,
      leases: deadLetters.leaseCount,
      entries: deadLetters.entries.size,
      probes: breakers.probeCount,
      breakerComparisons: naiveBreakers.comparisonCount,
      sharedRetries: budgets.takenCount,
      fleetEventsStored: fleetEvents.storedCount,
      saves: saved.saveCount,
      failedSaves: saved.failureCount,
      restored: saved.restoredCount,
      poolAttempts: pools.attemptCount,
      cooldowns: pools.cooldownCount,
      removedOutcomes: pools.removedCount,
      contractCalls: policies.callCount,
      contractSteps: [...contracts.values()].reduce((sum, { stepCount }) => sum + stepCount, 0),
      ...sumFallbacks(cluster),
      ...sumDisks([...cluster.disks.values()]),
      largestObjects: memory.largest.objects,
      busiestSecond: scheduler.maxPeriodCount,
      largestTimers: memory.largest.timers,
      ...smallCluster?.stats,
      ...smallFleet?.stats,
    },
  }
}

/** The queue of a store in the database itself, whose counts and lists have no entries of the disk fallback. */
const queueWithoutFallback = (store: Store): Store['deadLetters'] =>
  (store as { state?: { queue?: Store['deadLetters'] } }).state?.queue ?? store.deadLetters

/** The node of a process: `n1` of `n1.3`. */
const nodeOf = (process: string): string => process.slice(0, process.indexOf('.'))

/** What happened in all disk fallbacks. */
const sumFallbacks = ({ fallbacks, postgres }: Cluster): Record<string, number> => {
  const models = [...fallbacks.values()].map(({ model }) => model)
  return {
    fallbackKept: models.reduce((sum, { keptCount }) => sum + keptCount, 0),
    fallbackMoved: models.reduce((sum, { movedCount }) => sum + movedCount, 0),
    aliases: postgres.aliases().size,
  }
}

/** What happened on all disks. */
const sumDisks = (disks: readonly NodeDisk[]): Record<string, number> => {
  const sum = (count: (model: NodeDisk['model']) => number) =>
    disks.reduce((total, { model }) => total + count(model), 0)
  return {
    diskAcknowledged: sum((model) => model.acknowledgedCount),
    diskCompleted: sum((model) => model.completedCount),
    diskLeases: sum((model) => model.leaseCount),
    diskWarnings: sum((model) => model.warningCount),
    excused: sum((model) => model.excusedCount),
  }
}
