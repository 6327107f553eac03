import type { ExecutedLoad } from '../simulate.js'

/** What every seed must execute at least. A scenario of a file can be smaller. */
const REQUIRED_LOAD: ExecutedLoad = { nodes: 3, calls: 2000, faults: 50 }

/** Describes what a seed has executed too little of; undefined if it has executed enough. */
export function loadProblem(load: ExecutedLoad): string | undefined {
  const parts = (['nodes', 'calls', 'faults'] as const).filter((part) => load[part] < REQUIRED_LOAD[part])
  if (parts.length === 0) return undefined
  return parts.map((part) => `${load[part]} ${part}, expected at least ${REQUIRED_LOAD[part]}`).join('; ')
}
