import type { Store } from '@holdfast/store'
import { FaultInjector } from '../cluster/inject.js'
import { checkConnections } from '../invariants/connection-model.js'
import { FLEET_CHECK_INTERVAL_MS } from '../invariants/fleet-model.js'
import { DRILL_SLOT_MS, planDrill, planDrillFault, TRIP_KNOWN_MS } from '../scenario/drill.js'
import { DRILL_START_MS, DURATION_MS, FAULTS_END_MS } from '../scenario/scenario.js'
import type { Models } from './models.js'
import { nodeOf, type Run } from './run.js'

/** How often a node checks the contract of its queue. */
const CONTRACT_INTERVAL_MS = 20_000

/** How often a node checks the contract of its policies, and when it first does. */
const POLICY_INTERVAL_MS = 160_000
const POLICY_START_MS = 3000

/** How often all of the state is checked. */
const CHECK_INTERVAL_MS = 200_000

/** From this time on all nodes agree about the breakers. The last faults end 400 s after the last one begins. */
const CONVERGED_MS = FAULTS_END_MS + 800_000

/** The faults and calls of a scenario that were executed. */
export interface ExecutedPlan {
  readonly injector: FaultInjector
  /** Calls of the scenario that were started. Those of the drill do not count. */
  startedCalls: number
}

/** Schedules everything that happens in the hour and its drill. */
export function planHour(run: Run, models: Models): ExecutedPlan {
  const injector = planFaults(run, models)
  const executed: ExecutedPlan = { injector, startedCalls: 0 }
  planCalls(run, models, executed)
  planDrillChecks(run, models)
  planChecks(run, models)
  planQueueContracts(run, models)
  planPolicyContracts(run, models)
  return executed
}

function planFaults(
  { scheduler, scenario, addTrace }: Run,
  { cluster, upstreams, breakers }: Models,
): FaultInjector {
  const injector = new FaultInjector(scheduler, cluster, upstreams, (text) => addTrace('fault', text))
  for (const fault of scenario.faults)
    scheduler.schedule(fault.at, () => {
      injector.inject(fault)
      const isLoss = fault.kind === 'server_crash' && fault.loss !== 'nothing'
      if (isLoss && fault.server === 'redis') breakers.onRedisLostData()
    })
  return injector
}

function planCalls(
  { scheduler, scenario }: Run,
  { cluster, workload }: Models,
  executed: ExecutedPlan,
): void {
  const drill = planDrill(cluster.nodes.length)
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
      if (number < scenario.calls.length) executed.startedCalls++
      cluster.crashes.enter(nodeOf(process.name))
      workload.start(process, runtime, call, number)
    })
}

/** The faults of the drill, and what all nodes must know after each slot. */
function planDrillChecks({ scheduler, choices, check }: Run, { cluster, breakers, pools }: Models): void {
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
}

/** Comparisons that are too expensive after each event. */
function planChecks({ scheduler, check }: Run, models: Models): void {
  const { cluster, memory, workload, pools, breakers, memberChanges, fleet, fleetEvents, saved } = models
  for (let at = CHECK_INTERVAL_MS; at < DRILL_START_MS; at += CHECK_INTERVAL_MS)
    scheduler.schedule(at, () =>
      check(() => {
        memory.checkState(cluster.nodes, false)
        checkConnections(cluster.nodes)
        workload.records.checkCounters(cluster.nodes, false)
        pools.checkCounters()
        checkOwnStores(models)
        if (at < CONVERGED_MS) return
        breakers.checkConverged(cluster.nodes)
        memberChanges.checkConverged(cluster.nodes)
      }),
    )
  for (let at = FLEET_CHECK_INTERVAL_MS; at < DURATION_MS; at += FLEET_CHECK_INTERVAL_MS)
    scheduler.schedule(at, () =>
      check(() => {
        fleet.check(cluster.nodes)
        fleetEvents.checkSent(cluster.nodes)
        saved.checkPassed(cluster.nodes)
      }),
    )
}

/** Checks that the calls of the nodes' own stores end, and that their results are reported. */
function checkOwnStores({ cluster }: Models): void {
  for (const { queue, records } of cluster.databases.values()) {
    queue.checkReported()
    records.checkEnded()
  }
  for (const { model } of cluster.disks.values()) model.checkReported()
}

function planQueueContracts({ scheduler, check }: Run, { cluster, contracts }: Models): void {
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
}

function planPolicyContracts({ scheduler }: Run, { cluster, policies, policyChoices }: Models): void {
  for (const [at, node] of cluster.nodes.entries())
    for (
      let startAt = POLICY_START_MS + (at / cluster.nodes.length) * POLICY_INTERVAL_MS;
      startAt < DURATION_MS - POLICY_INTERVAL_MS;
      startAt += POLICY_INTERVAL_MS
    )
      scheduler.schedule(startAt, () => {
        const { process, runtime } = node
        if (process === undefined || runtime === undefined) return
        cluster.crashes.enter(node.name)
        policies.startGroup(process, policyChoices)
      })
}

/** The queue of a store in the database itself, whose counts and lists have no entries of the disk fallback. */
const queueWithoutFallback = (store: Store): Store['deadLetters'] =>
  (store as { state?: { queue?: Store['deadLetters'] } }).state?.queue ?? store.deadLetters
