import { Choices } from '../engine/seeded-random.js'
import { planBreakerKinds } from './breaker-kinds.js'
import {
  CALLS_END_MS,
  FAULTS_END_MS,
  type Fault,
  MEMBERS,
  type MemberChange,
  OPERATIONS,
  type PlannedAttempt,
  type PlannedCall,
  POOL_OPERATION,
  POOL_SHARES,
  type Scenario,
  type Server,
} from './scenario.js'
import { planSqliteFaults, planSqliteNodes } from './sqlite-faults.js'

/** More than every seed must execute: calls are not made while all nodes are down, and some faults have no effect. */
const MIN_CALLS = 2080
const MIN_FAULTS = 66
/** How many crashes at an await a scenario has in addition. */
const MIN_AWAIT_CRASHES = 6
/** How many faults a scenario has in addition: faults of disks if it has disks. */
const MIN_DISK_FAULTS = 8
/** How many faults of disks a scenario with disk fallbacks has in addition. */
const FALLBACK_DISK_FAULTS = 4
/** How many periods a scenario has in addition in which connections to PostgreSQL break before the reply to a request. */
const MIN_LOST_REPLIES = 4

/** The share of calls that use the pool, and how many live changes of members a scenario has in addition. */
const POOL_SHARE = 0.16
const MIN_MEMBER_CHANGES = 24

/** The kinds of live changes. Most members are in use most of the time. */
const CHANGES: readonly MemberChange[] = [
  ...(['drain', 'disable', 'enable', 'enable'] as const),
  ...(['remove', 'replace', 'replace', 'replace', 'add', 'add', 'add'] as const),
]

/** Creates the scenario of a seed. */
export function generateScenario(seed: number): Scenario {
  const choices = new Choices(seed)
  const nodes = choices.pick([3, 3, 3, 3, 4, 5])
  const calls = Array.from({ length: MIN_CALLS + choices.below(120) }, () => planCall(choices, nodes))
  const faults = Array.from({ length: MIN_FAULTS + choices.below(12) }, () => planFault(choices, nodes))
  const diskNodes = planDiskNodes(choices, nodes)
  for (let count = MIN_DISK_FAULTS + choices.below(8); count > 0; count--)
    faults.push(
      diskNodes.length > 0 ? planDiskFault(choices, choices.pick(diskNodes)) : planFault(choices, nodes),
    )
  for (let count = MIN_LOST_REPLIES + choices.below(4); count > 0; count--)
    faults.push(planLostReplies(choices, nodes))
  for (let count = MIN_AWAIT_CRASHES + choices.below(4); count > 0; count--)
    faults.push(planAwaitCrash(choices, calls))
  calls.push(...planMemberChanges(choices, calls))
  const poolShare = choices.pick(POOL_SHARES)
  const persists = choices.chance(0.5)
  const sqliteNodes = planSqliteNodes(choices, nodes, diskNodes)
  for (const node of sqliteNodes) faults.push(...planSqliteFaults(choices, node))
  const breakerKinds = planBreakerKinds(choices)
  const hasDiskFallback = choices.chance(0.6)
  if (hasDiskFallback)
    for (let count = FALLBACK_DISK_FAULTS; count > 0; count--) faults.push(planFallbackFault(choices, nodes))
  const byTime = (a: { at: number }, b: { at: number }) => a.at - b.at
  return {
    seed,
    nodes,
    diskNodes: diskNodes.filter((node) => !sqliteNodes.includes(node)),
    sqliteNodes,
    hasDiskFallback,
    poolShare,
    persists,
    breakerKinds,
    calls: calls.toSorted(byTime),
    faults: faults.toSorted(byTime),
  }
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

/** A fault of the disk of a node with PostgreSQL. Such a disk never lies, because its entries exist nowhere else. */
const planFallbackFault = (choices: Choices, nodes: number): Fault => ({
  at: choices.between(5000, FAULTS_END_MS),
  kind: 'disk_fault',
  node: choices.below(nodes),
  fault: choices.pick(['error', 'flaky', 'full']),
  ms: choices.pick([2000, 20_000, 200_000]) * choices.random(),
})

/** The store is available and its replies are lost: it must find out which of its transactions were committed. */
const planLostReplies = (choices: Choices, nodes: number): Fault => ({
  at: choices.between(5000, FAULTS_END_MS),
  kind: 'lost_reply',
  node: choices.below(nodes),
  server: 'store',
  ms: choices.pick([4000, 20_000, 120_000]) * choices.random(),
  losses: choices.pick([0.1, 0.3, 0.6]),
})

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
  const action = planAction(choices.random() * (isCalm ? 0.98 : 1))
  const usesPool = choices.chance(POOL_SHARE)
  const attempts = Array.from({ length: 1 + choices.below(3) }, () => {
    if (isCalm) return { ms: choices.delay(80), fails: false }
    return usesPool ? planPoolAttempt(choices) : planAttempt(choices)
  })
  const isBreakerAction = action === 'trip' || action === 'reset'
  return {
    at,
    node: choices.below(nodes),
    action,
    operation: usesPool ? POOL_OPERATION : choices.pick(OPERATIONS),
    attempts,
    target: choices.random(),
    ...(usesPool && isBreakerAction && { member: choices.pick(MEMBERS) }),
  }
}

/** Attempts through a pool take longer, so that changes of members happen meanwhile. Some are rejected with a rate limit. */
function planPoolAttempt(choices: Choices): PlannedAttempt {
  const attempt = planAttempt(choices)
  if (choices.chance(0.06)) return { ...attempt, limitMs: Math.ceil(choices.delay(15_000)) }
  return choices.chance(0.4) ? { ...attempt, ms: choices.delay(1500), fails: choices.chance(0.15) } : attempt
}

/** Live changes of members, most of them while a long attempt of the same node runs. All members are restored before the drill. */
function planMemberChanges(choices: Choices, calls: readonly PlannedCall[]): PlannedCall[] {
  const longCalls = calls.filter(
    ({ at, operation, attempts }) =>
      operation === POOL_OPERATION && at < FAULTS_END_MS && Number(attempts[0]?.ms) > 500,
  )
  return Array.from({ length: MIN_MEMBER_CHANGES + choices.below(12) }, () => {
    const { at, node, attempts } = choices.pick(longCalls)
    const change = choices.pick(CHANGES)
    const isRepair = change === 'enable' || change === 'add'
    return {
      at: at + choices.between(0, Math.min(Number(attempts[0]?.ms), 2000)),
      node,
      action: 'member',
      operation: POOL_OPERATION,
      attempts: [{ ms: 50, fails: false }],
      target: choices.random(),
      change,
      ...((isRepair || choices.chance(0.3)) && { member: choices.pick(MEMBERS) }),
    }
  })
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
  const operation = choices.chance(0.3) ? choices.pick(MEMBERS) : choices.pick(OPERATIONS)
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
