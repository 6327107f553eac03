import { Choices } from '../engine/seeded-random.js'
import {
  CALLS_END_MS,
  FAULTS_END_MS,
  type Fault,
  OPERATIONS,
  type PlannedAttempt,
  type PlannedCall,
  type Scenario,
  type Server,
} from './scenario.js'

/** More than every seed must execute: calls are not made while all nodes are down, and some faults have no effect. */
const MIN_CALLS = 2080
const MIN_FAULTS = 64
/** How many crashes at an await a scenario has in addition. */
const MIN_AWAIT_CRASHES = 6
/** How many faults of disks a scenario with disks has in addition. */
const MIN_DISK_FAULTS = 8

/** Creates the scenario of a seed. */
export function generateScenario(seed: number): Scenario {
  const choices = new Choices(seed)
  const nodes = choices.pick([3, 3, 3, 3, 4, 5])
  const calls = Array.from({ length: MIN_CALLS + choices.below(120) }, () => planCall(choices, nodes))
  const faults = Array.from({ length: MIN_FAULTS + choices.below(12) }, () => planFault(choices, nodes))
  const diskNodes = planDiskNodes(choices, nodes)
  if (diskNodes.length > 0)
    for (let count = MIN_DISK_FAULTS + choices.below(8); count > 0; count--)
      faults.push(planDiskFault(choices, choices.pick(diskNodes)))
  for (let count = MIN_AWAIT_CRASHES + choices.below(4); count > 0; count--)
    faults.push(planAwaitCrash(choices, calls))
  const byTime = (a: { at: number }, b: { at: number }) => a.at - b.at
  return { seed, nodes, diskNodes, calls: calls.toSorted(byTime), faults: faults.toSorted(byTime) }
}

/** Three nodes, or two of three, share PostgreSQL. The others have disks. */
const planDiskNodes = (choices: Choices, nodes: number): number[] => {
  if (nodes > 3) return Array.from({ length: nodes - 3 }, (_, at) => at + 3)
  return choices.chance(0.5) ? [2] : []
}

/** Ends a process at an await in the work of a call, or soon after it. */
function planAwaitCrash(choices: Choices, calls: readonly PlannedCall[]): Fault {
  const { at, node } = choices.pick(calls.filter((call) => call.at < FAULTS_END_MS))
  return {
    at,
    kind: 'await_crash',
    node,
    microtask: 1 + choices.below(choices.pick([20, 200, 2000])),
    isPowerFailure: choices.chance(0.5),
    downMs: choices.delay(20_000),
  }
}

function planDiskFault(choices: Choices, node: number): Fault {
  const at = choices.between(5000, FAULTS_END_MS)
  const ms = choices.pick([100, 2000, 20_000, 200_000]) * choices.random()
  const downMs = choices.delay(20_000)
  switch (choices.below(5)) {
    case 0:
    case 1:
      return { at, kind: 'power_failure', node, downMs }
    case 2:
      return { at, kind: 'lying_disk', node, ms, downMs }
    default:
      return { at, kind: 'disk_fault', node, fault: choices.pick(['error', 'flaky', 'full']), ms }
  }
}

function planCall(choices: Choices, nodes: number): PlannedCall {
  const at = choices.between(1000, CALLS_END_MS)
  // At the end nothing fails, so that the cluster must come to rest.
  const isCalm = at > FAULTS_END_MS
  return {
    at,
    node: choices.below(nodes),
    action: planAction(choices.random() * (isCalm ? 0.98 : 1)),
    operation: choices.pick(OPERATIONS),
    attempts: Array.from({ length: 1 + choices.below(3) }, () =>
      isCalm ? { ms: choices.delay(80), fails: false } : planAttempt(choices),
    ),
    target: choices.random(),
  }
}

function planAction(chance: number): PlannedCall['action'] {
  if (chance < 0.82) return 'run'
  if (chance < 0.87) return 'enqueue'
  if (chance < 0.95) return 'replay'
  if (chance < 0.97) return 'replayBatch'
  if (chance < 0.98) return 'complete'
  return chance < 0.99 ? 'trip' : 'reset'
}

function planAttempt(choices: Choices): PlannedAttempt {
  // A few take so long that they time out, and a few handlers so long that their lease must be renewed. Many of them fail at last,
  // when the breaker is in another state.
  const isSlow = choices.chance(0.03)
  return {
    ms: isSlow ? choices.between(3000, choices.pick([12_000, 600_000])) : choices.delay(80),
    fails: choices.chance(isSlow ? 0.5 : 0.06),
    ignoresSignal: choices.chance(0.5),
  }
}

function planFault(choices: Choices, nodes: number): Fault {
  const at = choices.between(5000, FAULTS_END_MS)
  const node = choices.below(nodes)
  const server: Server = choices.chance(0.5) ? 'store' : 'redis'
  // Mostly shorter than a timeout, and sometimes longer than a lease.
  const ms = choices.pick([500, 4000, 20_000, 120_000, 400_000]) * choices.random()
  const operation = choices.pick(OPERATIONS)
  switch (choices.below(16)) {
    case 0:
    case 1:
      return { at, kind: 'crash', node, downMs: choices.delay(20_000) }
    case 2:
      return { at, kind: 'restart', node, downMs: choices.delay(5000) }
    case 3:
    case 4:
      return { at, kind: 'partition', node, server, ms }
    case 5:
      return { at, kind: 'reset', node, server }
    case 6:
      return { at, kind: 'slow', node, server, ms, delay: choices.pick([20, 200, 2000]) }
    case 7:
      return { at, kind: 'duplicate', node, server, ms }
    case 8:
      return { at, kind: 'server_down', server, ms }
    case 9:
      return {
        at,
        kind: 'server_crash',
        server,
        loss: choices.pick(['nothing', 'last-second', 'everything']),
      }
    case 13:
      return {
        at,
        kind: 'store_fault',
        fault: choices.pick(['read-only', 'disk-full', 'shutting-down', 'slow']),
        ms,
      }
    case 14:
      return { at, kind: 'redis_fault', fault: choices.pick(['oom', 'readonly', 'loading']), ms }
    case 15:
      return { at, kind: 'loss', node, server, ms, losses: choices.pick([0.05, 0.2, 0.5]) }
    case 10:
      return { at, kind: 'upstream_down', operation, ms: choices.delay(60_000) }
    case 11:
      return {
        at,
        kind: 'clock_step',
        node,
        step: choices.between(-1, 1) * choices.pick([60_000, 900_000]),
        ms,
      }
    default:
      return { at, kind: 'clock_drift', node, rate: choices.between(0.999, 1.001), ms }
  }
}
