import type { Holdfast } from '@holdfast/runtime'
import type { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { ChangeActions } from './change-actions.js'
import { QueueActions } from './queue-actions.js'
import { DRAIN_AT_MS, FAULTS_END_MS, LONGEST_HANDLER_MS, SOLE_NODE } from './settings.js'
import { SmallCluster } from './small-cluster.js'

/** The numbers of actions until the faults end. */
const BURSTS = 8
const REPEATS = 6
const REPLAYS = 24
const EXPIRING_REPLAYS = 5
const BATCHES = 14
const REQUESTS = 8
const EDITS = 8
const COMPLETIONS = 4
const CHANGES = 14
const FAILING_CALLS = 14
const RESTARTS = 4

/** When each node replays everything at the end, and how often. */
const DRAIN_INTERVAL_MS = 20_000
const DRAINS = 3

/** The result of a run. */
export interface SmallClusterResult {
  readonly violation: Violation | undefined
  readonly stats: Record<string, number>
}

/**
 * Runs three processes with one store for 18 minutes. Nothing fails but single calls of the store and whole processes, so that the
 * models of leases, batches, live changes and the capacity of the queue can be exact.
 */
export function runSmallCluster(
  seed: number,
  trace: (now: number, subject: string, text: string) => void,
  onEvent: (now: number) => void = () => {},
): SmallClusterResult {
  const cluster: SmallCluster = new SmallCluster(seed, (subject, text) =>
    trace(cluster.scheduler.now, `small ${subject}`, text),
  )
  const queue = new QueueActions(cluster)
  const changes = new ChangeActions(cluster)
  cluster.onProcessStarted = (process, runtime) => queue.onStarted(process, runtime)
  cluster.onStoreCalled = (call) => queue.onStoreCalled(call)
  const { choices, scheduler } = cluster

  /** Does something on a node that runs, at some times. */
  const plan = (
    count: number,
    act: (process: Process, runtime: Holdfast, node: SimulatedNode) => unknown,
  ) => {
    for (let left = count; left > 0; left--) {
      const picked = choices.pick(cluster.nodes)
      scheduler.schedule(choices.between(4000, FAULTS_END_MS), () => {
        const { process, runtime } = picked
        if (process === undefined || runtime === undefined || cluster.isClosing(process.name)) return
        void act(process, runtime, picked)
      })
    }
  }
  plan(BURSTS, (process, runtime) => queue.storeBurst(process, runtime))
  plan(REPEATS, (process, runtime) => queue.repeatItem(process, runtime))
  plan(REPLAYS, (process, runtime) => queue.replayOne(process, runtime))
  plan(BATCHES, (process, runtime) => queue.replayBatch(process, runtime))
  plan(REQUESTS, (process, runtime) => queue.requestReplays(process, runtime))
  plan(EDITS, (process, runtime) => queue.edit(process, runtime))
  plan(COMPLETIONS, (process, runtime) => queue.complete(process, runtime))
  plan(FAILING_CALLS, (process, runtime) => queue.failOne(process, runtime))
  plan(CHANGES, () => changes.changeBurst())
  plan(RESTARTS, async (_process, _runtime, node) => {
    const downMs = choices.between(6000, 30_000)
    if (choices.chance(0.4)) {
      cluster.kill(node)
      return node.startLater(downMs)
    }
    await cluster.close(node)
    node.startLater(downMs)
  })
  const soleNode = cluster.nodes.find(({ name }) => name === SOLE_NODE)
  for (let left = EXPIRING_REPLAYS; left > 0; left--)
    scheduler.schedule(choices.between(4000, FAULTS_END_MS - LONGEST_HANDLER_MS), () => {
      const { process, runtime } = soleNode ?? {}
      if (process !== undefined && runtime !== undefined && !cluster.isClosing(process.name))
        void queue.replayExpiring(process, runtime)
    })
  const keys = cluster.settings.keysOf(0)
  if (keys !== undefined) plan(1, (process, runtime) => queue.rotate(process, runtime, keysOfNode(process)))
  const keysOfNode = (process: Process) => cluster.settings.keysOf(Number(process.name.slice(1, 2))) ?? []
  for (let round = 0; round < DRAINS; round++)
    for (const node of cluster.nodes)
      scheduler.schedule(DRAIN_AT_MS + round * DRAIN_INTERVAL_MS, () => {
        const { process, runtime } = node
        if (process !== undefined && runtime !== undefined) void queue.replayBatch(process, runtime, true)
      })

  const violation = cluster.run(() => {
    queue.onEventEnded()
    onEvent(scheduler.now)
  })
  return {
    violation,
    stats: {
      smallEvents: scheduler.eventCount,
      smallFaults: cluster.faults.count,
      smallEntries: cluster.queue.entries.size,
      smallVersions: cluster.layers.versions.length - 1,
      smallConflicts: cluster.layers.conflictCount,
      smallWarnings: cluster.queue.warningCount,
    },
  }
}
