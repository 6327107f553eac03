import { STRATEGIES } from '../strategies.mjs'

/** Loaded by the process that measures, not by the one that lists. */
const pool = () => import('../measure/pool.mjs')

/** @type {Record<string, number>} */
const SIZES = { many: 1000, most: 100_000 }

/** @type {import('./index.mjs').Case} */
export const poolGuard = {
  name: 'pool-guard',
  title: 'A call through a guard with a pool',
  note:
    'Processor time of a call that succeeds through a guard with a pool, beyond the same call through the same ' +
    'guard without a pool, alternating, by the number of members. Calls come from 1,024 sessions in twenty ' +
    'regions.',
  metrics: [
    { key: 'many', title: '1,000 members', unit: 'nanoseconds' },
    { key: 'most', title: '100,000', unit: 'nanoseconds', spread: true },
  ],
  rounds: 1,
  subjects: STRATEGIES.map((strategy) => ({
    label: strategy,
    bounds: { most: 2000 },
    async measure() {
      const { guardOverhead } = await pool()
      /** @type {Record<string, number[]>} */
      const samples = {}
      for (const [key, count] of Object.entries(SIZES)) samples[key] = await guardOverhead(strategy, count)
      return { samples }
    },
  })),
}
