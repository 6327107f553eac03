import { DRILL_START_MS, OPERATIONS, type Operation, type PlannedCall } from './scenario.js'

/** The operations whose breakers all nodes share. */
export const SHARED_OPERATIONS: readonly Operation[] = OPERATIONS.filter(
  (operation) => operation !== 'report',
)

/** How long each node has for itself: an open duration of 15 s, and calls until the breakers are closed again. */
export const DRILL_SLOT_MS = 70_000

/** Calls of one operation in a slot: the first one requests a permit of the fleet, the next ones are probes. */
const RECOVERY_CALLS = 8

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
 * The calls after all faults and all other calls: every node in turn must be able to do everything alone. It trips the shared breakers
 * and makes the only calls until they are closed again, and stores a dead letter. At last, every node replays all dead letters that
 * are not completed.
 */
export function planDrill(nodes: number): PlannedCall[] {
  const calls: PlannedCall[] = []
  for (let node = 0; node < nodes; node++) {
    const startAt = DRILL_START_MS + node * DRILL_SLOT_MS
    for (const operation of SHARED_OPERATIONS) {
      calls.push(plan(node, 'trip', operation, startAt + 1000))
      for (let count = 0; count < RECOVERY_CALLS; count++)
        calls.push(plan(node, 'run', operation, startAt + 18_000 + count * 4000))
    }
    calls.push(plan(node, 'enqueue', 'report', startAt + 55_000))
  }
  const endAt = DRILL_START_MS + nodes * DRILL_SLOT_MS
  for (let node = 0; node < nodes; node++)
    for (const operation of OPERATIONS) {
      calls.push({ ...plan(node, 'replayBatch', operation, endAt + node * 5000), retryFailed: true })
    }
  return calls
}
