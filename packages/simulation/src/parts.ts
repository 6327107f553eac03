import { runInMacrotask } from './engine/microtasks.js'
import type { Violation } from './engine/violation.js'
import { runPostgresHistory } from './postgres-history/postgres-history.js'
import { runSmallCluster } from './small-cluster/index.js'
import { runSmallFleet } from './small-fleet/small-fleet.js'
import { runMemoryHistory } from './sqlite/memory-history.js'
import { runSqliteHistory } from './sqlite/sqlite-history.js'
import { runTurnHistory } from './sqlite/turn-history.js'
import { runFilesHistory } from './store-history/files-history.js'

/** What only every second seed of a series runs before the hour of its cluster. */
export const PARTS = ['store histories', 'small cluster'] as const
export type Part = (typeof PARTS)[number]

/** The parts of a seed in a series of seeds: each part runs in every second one, so that a series has more clusters in the same time. */
export const partsOfSeed = (seed: number): readonly Part[] => [PARTS[seed % PARTS.length] as Part]

/** The histories of single stores. */
const STORE_HISTORIES = [
  runFilesHistory,
  runMemoryHistory,
  runSqliteHistory,
  runTurnHistory,
  runPostgresHistory,
]

/** Where a part reports what happens in it. */
export interface PartObserver {
  addTrace(now: number, subject: string, text: string): void
  onEvent?: ((now: number) => void) | undefined
}

/** The end of the parts. */
export interface PartsResult {
  readonly violation?: Violation | undefined
  readonly stats: Record<string, number>
}

/** Runs the given parts and the small fleet, each in virtual time of its own, until a promise is not kept. */
export async function runParts(
  seed: number,
  parts: readonly Part[],
  { addTrace, onEvent }: PartObserver,
): Promise<PartsResult> {
  if (parts.includes('store histories'))
    for (const runHistory of STORE_HISTORIES) {
      const violation = await runHistory(seed, addTrace)
      if (violation !== undefined) return { violation, stats: {} }
    }
  let stats = {}
  for (const run of parts.includes('small cluster') ? [runSmallCluster, runSmallFleet] : [runSmallFleet]) {
    const result = await runInMacrotask(() => run(seed, addTrace, onEvent))
    stats = { ...stats, ...result.stats }
    if (result.violation !== undefined) return { violation: result.violation, stats }
  }
  return { stats }
}
