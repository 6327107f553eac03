/** The strategies of a pool that the benchmarks compare. This module imports no package, so that it loads without a build. */
export const STRATEGIES = /** @type {const} */ ([
  'round_robin',
  'random',
  'weighted',
  'least_used',
  'least_latency',
  'score',
  'sticky',
  'region',
  'cost',
])

/** @typedef {(typeof STRATEGIES)[number]} Strategy */
