const MAX_MEMBERS = 1_000_000
const ADDED = 100_000
const ROUNDS = 3

const STRATEGIES = /** @type {const} */ ([
  'round_robin',
  'weighted',
  'least_latency',
  'score',
  'sticky',
  'region',
  'cost',
])

/**
 * @param {string} label
 * @param {(typeof STRATEGIES)[number]} strategy
 * @param {boolean} regions
 */
const subject = (label, strategy, regions) => ({
  label,
  bounds: { bytes: 300, added: 300 },
  async measure() {
    const { adding, memory } = await import('../measure/pool.mjs')
    return { samples: { ...memory(strategy, MAX_MEMBERS, regions), added: adding(strategy, ADDED, ROUNDS) } }
  },
})

/** @type {import('./index.mjs').Case} */
export const poolMembers = {
  name: 'pool-members',
  title: 'The members of a pool',
  note:
    'The memory of a pool for each member, in addition to the object that the caller created: on the heap and ' +
    'in buffers, and as resident memory. And the time to add a member.',
  metrics: [
    { key: 'bytes', title: 'memory', unit: 'bytes' },
    { key: 'resident', title: 'resident', unit: 'bytes' },
    { key: 'added', title: 'adding', unit: 'milliseconds', spread: true },
  ],
  rounds: 1,
  subjects: [
    ...STRATEGIES.map((strategy) => subject(strategy, strategy, strategy === 'region')),
    // The strategy has one ring per region, and one for all members when a region has no available member.
    { ...subject('sticky, with regions', 'sticky', true), bounds: { added: 300 } },
  ],
}
