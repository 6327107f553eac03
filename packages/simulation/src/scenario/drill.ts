import type { Choices } from '../engine/seeded-random.js'
import {
  ALL_OPERATIONS,
  DRILL_START_MS,
  FAULTS_END_MS,
  MEMBERS,
  OPERATIONS,
  type Operation,
  type PlannedCall,
  POOL_OPERATION,
} from './scenario.js'

/** The operations whose breakers all nodes share. */
export const SHARED_OPERATIONS: readonly Operation[] = OPERATIONS.filter(
  (operation) => operation !== 'report',
)

/** How long each node has for itself: an open duration of 15 s, and calls until the breakers are closed again. */
export const DRILL_SLOT_MS = 70_000

/** Calls of one operation in a slot: the first one requests a permit of the fleet, the next ones are probes. */
const RECOVERY_CALLS = 8

/** When a node trips the breakers in its slot, when its first call follows, and when the trip must be known to all nodes. */
const TRIP_MS = 1000
const FIRST_CALL_MS = 18_000
export const TRIP_KNOWN_MS = 14_000

/** Longer than the timeout of a command, so that a node continues without Redis for some calls. */
const MAX_PARTITION_MS = 4000

/** When calls close the breakers, also in a reduced scenario that has no other calls at that time. */
const RECOVERY_AT_MS = FAULTS_END_MS + 700_000

/** Before the drill, each node in turn adds and enables the members of the pool that its store has not. */
const RESTORE_MS = -100_000
const RESTORE_INTERVAL_MS = 15_000

/** The calls of a node through the pool: each member gets enough of them to close its breaker. */
const POOL_CALLS = 4 * MEMBERS.length

/** The cooldown that a member requests in the slot of each node. It is longer than until it must be known, and ends in the slot. */
const DRILL_COOLDOWN_MS = 35_000

const plan = (
  node: number,
  action: PlannedCall['action'],
  operation: Operation,
  at: number,
): PlannedCall => ({
  at,
  node,
  action,
  operation,
  attempts: [{ ms: 50, fails: false }],
  // Above the shares of calls that repeat a request or are aborted.
  target: 0.9,
})

/**
 * Calls that close the breakers, and after them, when all faults and all other calls have ended, the drill: every node in turn must be
 * able to do everything alone. It trips the shared breakers, makes the only calls until they are closed again, and stores a dead
 * letter. At last, every node replays all dead letters that are not completed.
 */
export function planDrill(nodes: number): PlannedCall[] {
  const calls: PlannedCall[] = []
  for (const operation of SHARED_OPERATIONS)
    for (let count = 0; count < RECOVERY_CALLS; count++)
      calls.push(plan(0, 'run', operation, RECOVERY_AT_MS + count * 4000))
  for (let node = 0; node < nodes; node++) {
    const startAt = DRILL_START_MS + node * DRILL_SLOT_MS
    for (const operation of SHARED_OPERATIONS) {
      calls.push(plan(node, 'trip', operation, startAt + TRIP_MS))
      for (let count = 0; count < RECOVERY_CALLS; count++)
        calls.push(plan(node, 'run', operation, startAt + FIRST_CALL_MS + count * 4000))
    }
    for (const [at, member] of MEMBERS.entries()) {
      const restoreAt = DRILL_START_MS + RESTORE_MS + node * RESTORE_INTERVAL_MS + at * 2000
      calls.push({ ...plan(node, 'member', POOL_OPERATION, restoreAt), change: 'restore', member })
    }
    const limited = { ms: 50, fails: false, limitMs: DRILL_COOLDOWN_MS }
    calls.push({
      ...plan(node, 'run', POOL_OPERATION, startAt + TRIP_MS),
      attempts: [limited, { ms: 50, fails: false }],
    })
    for (let count = 0; count < POOL_CALLS; count++)
      calls.push(plan(node, 'run', POOL_OPERATION, startAt + FIRST_CALL_MS + 20_000 + count * 1000))
    calls.push(plan(node, 'enqueue', 'report', startAt + 55_000))
    // The first node has no worker.
    if (node > 0) calls.push(plan(node, 'request', 'report', startAt + 56_000))
  }
  const endAt = DRILL_START_MS + nodes * DRILL_SLOT_MS
  for (let node = 0; node < nodes; node++)
    for (const operation of ALL_OPERATIONS) {
      calls.push({ ...plan(node, 'replayBatch', operation, endAt + node * 5000), retryFailed: true })
    }
  return calls
}

/** What happens to the connections of a node to Redis in its own slot. */
export interface DrillFault {
  readonly at: number
  /** How long packets wait. Undefined if the connections break instead. */
  readonly partitionMs: number | undefined
}

/**
 * The connections of a node to Redis break, or its packets wait for up to 4 s, just after the trip or just after the first call, so that a
 * command or its reply is on its way. No other node helps to recover from it.
 */
export const planDrillFault = (node: number, choices: Choices): DrillFault => ({
  at: DRILL_START_MS + node * DRILL_SLOT_MS + choices.pick([TRIP_MS, FIRST_CALL_MS]) + choices.between(0, 2),
  partitionMs: choices.chance(0.5) ? choices.between(0, MAX_PARTITION_MS) : undefined,
})
