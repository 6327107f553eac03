import type { Choices } from '../engine/seeded-random.js'
import { CRASH_TARGETS, FAULTS_END_MS, type Fault } from './scenario.js'

/** How many faults a SQLite file has at least. */
const MIN_FAULTS = 14

/** The share of scenarios with three nodes and without disks that have a SQLite file. */
const SQLITE_SHARE = 0.7

/** Longer than the timeout of the lock in some cases. */
const MAX_LOCKED_MS = 14_000

/** The last node has a SQLite file in most scenarios without disks, and instead of a second disk. */
export function planSqliteNodes(choices: Choices, nodes: number, diskNodes: readonly number[]): number[] {
  if (diskNodes.length > 1) return diskNodes.slice(-1)
  return diskNodes.length === 0 && choices.chance(SQLITE_SHARE) ? [nodes - 1] : []
}

/** Faults of the statements of a SQLite file, and ends of threads, processes and machines around its commits. */
export const planSqliteFaults = (choices: Choices, node: number): Fault[] =>
  Array.from({ length: MIN_FAULTS + choices.below(8) }, () => planSqliteFault(choices, node))

function planSqliteFault(choices: Choices, node: number): Fault {
  const at = choices.between(5000, FAULTS_END_MS)
  switch (choices.below(10)) {
    case 0:
      return { at, kind: 'sqlite_fault', node, fault: 'locked', ms: choices.between(0, MAX_LOCKED_MS) }
    case 1:
    case 2:
    case 3: {
      const ms = choices.pick([100, 2000, 20_000, 100_000]) * choices.random()
      return { at, kind: 'sqlite_fault', node, fault: choices.pick(['error', 'flaky', 'flaky', 'full']), ms }
    }
    default:
      return {
        at,
        kind: 'commit_crash',
        node,
        commit: 1 + choices.below(4),
        isBefore: choices.chance(0.3),
        target: choices.pick(CRASH_TARGETS),
        downMs: choices.delay(20_000),
      }
  }
}
