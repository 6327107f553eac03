import { START_WALL_MS } from '../engine/virtual-clock.js'
import { checkConnections } from '../invariants/connection-model.js'
import { checkFleetAtRest } from '../invariants/fleet-rest-model.js'
import { DRILL_SLOT_MS } from '../scenario/drill.js'
import { CALLS_END_MS, DRILL_START_MS } from '../scenario/scenario.js'
import type { Models } from './models.js'

/** A requested replay is made within this time after the last fault. */
const SERVED_WITHIN_MS = 600_000

/** Checks everything that must hold when the cluster has come to rest. @throws Violation */
export function checkAtEnd(models: Models): void {
  const { cluster, breakers, memberChanges, pools, budgets, workload, records, housekeeping, memory } = models
  const { fleetEvents, saved } = models
  const isOnServer = models.isOnServer.bind(models)
  checkDeadLetters(models)
  breakers.checkConverged(cluster.nodes)
  memberChanges.checkConverged(cluster.nodes)
  pools.checkCounters()
  pools.checkAvailable(cluster.nodes)
  checkFleetAtRest(cluster.nodes)
  budgets.checkAtRest(cluster.nodes)
  fleetEvents.checkSent(cluster.nodes)
  saved.checkPassed(cluster.nodes)
  workload.records.checkCounters(cluster.nodes, true)
  records.checkWritten(cluster.nodes, isOnServer)
  housekeeping.check(cluster.nodes, isOnServer)
  checkConnections(cluster.nodes)
  memory.checkState(cluster.nodes, true)
}

/** Checks that the processes, which have closed, have sent the events of their last calls to the fleet. @throws Violation */
export function checkClosed({ cluster, fleetEvents }: Models): void {
  fleetEvents.checkSent(cluster.nodes)
  fleetEvents.checkNoneLeft(cluster.nodes)
}

/** All dead letters are stored and replayed, on the server and on each node with a store of its own. */
function checkDeadLetters({ cluster, deadLetters }: Models): void {
  const drainAt = DRILL_START_MS + cluster.nodes.length * DRILL_SLOT_MS
  const servedUntil = CALLS_END_MS - SERVED_WITHIN_MS
  deadLetters.checkAll((id) => cluster.readEntry(id))
  deadLetters.checkMoved()
  for (const [node, { model }] of cluster.fallbacks) model.checkEmpty(node)
  deadLetters.checkServed(servedUntil)
  deadLetters.checkAllCompleted(drainAt)
  for (const { queue, records } of cluster.databases.values()) {
    queue.checkAll()
    queue.checkServed(START_WALL_MS + servedUntil)
    queue.checkAllCompleted(START_WALL_MS + drainAt)
    queue.checkAllReported()
    records.checkEnded()
    records.checkAll()
  }
  for (const { model } of cluster.disks.values()) {
    model.checkAll()
    model.checkServed(START_WALL_MS + servedUntil)
    model.checkAllCompleted(START_WALL_MS + drainAt)
    model.checkAllReported()
  }
}
