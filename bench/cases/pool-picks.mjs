import { STRATEGIES } from '../strategies.mjs'

/** Loaded by the process that measures, not by the one that lists. */
const pool = () => import('../measure/pool.mjs')

/** @type {Record<string, number>} */
const SIZES = { few: 100, many: 10_000, most: 100_000 }

/** @type {import('./index.mjs').Case} */
export const poolPicks = {
  name: 'pool-picks',
  title: 'Selecting a member of a pool',
  note:
    'Processor time of one selection with its result, with 30 % of the members ejected, by the number of ' +
    'members. With 100,000 members most of the time is waiting for memory, which takes longer on a busy ' +
    'machine.',
  metrics: [
    { key: 'few', title: '100 members', unit: 'nanoseconds' },
    { key: 'many', title: '10,000', unit: 'nanoseconds' },
    { key: 'most', title: '100,000', unit: 'nanoseconds', spread: true },
  ],
  rounds: 1,
  subjects: STRATEGIES.map((strategy) => ({
    label: strategy,
    bounds: { most: 1500 },
    async measure() {
      const { picks } = await pool()
      /** @type {Record<string, number[]>} */
      const samples = {}
      for (const [key, count] of Object.entries(SIZES)) samples[key] = await picks(strategy, count)
      return { samples }
    },
  })),
}
