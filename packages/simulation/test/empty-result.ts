import type { SimulationResult } from '../src/simulate.js'

/** The result of a simulation in which nothing happened. */
export const emptyResult = (seed: number): SimulationResult => ({
  seed,
  violation: undefined,
  digest: '',
  lines: [],
  events: 0,
  endedAt: Number.POSITIVE_INFINITY,
  load: { nodes: 3, calls: 0, faults: 0 },
  faultsByKind: new Map(),
  stats: {},
})
