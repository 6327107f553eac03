import { succeeding } from '../measure/loops.mjs'
import { pairs } from '../measure/pairs.mjs'
import { succeed } from '../work.mjs'

const TOGETHER = 1000
const MEMBERS = 1000

/** @type {import('./index.mjs').Case} */
export const poolTogether = {
  name: 'pool-together',
  title: 'Calls to a pool, one at a time and concurrently',
  note: `A guard with a pool of ${MEMBERS.toLocaleString('en')} members: ${TOGETHER.toLocaleString('en')} concurrent calls, compared with one call after another.`,
  metrics: [
    { key: 'perCall', title: 'per call, concurrent', unit: 'nanoseconds' },
    { key: 'ratio', title: '× one at a time', unit: 'times', spread: true },
  ],
  rounds: 3,
  subjects: /** @type {const} */ (['round_robin', 'least_used', 'score']).map((strategy) => ({
    label: strategy,
    bounds: { ratio: 1.05 },
    async measure() {
      const { guard, Pool } = await import('holdfast')
      const { members } = await import('../measure/pool.mjs')
      const pool = new Pool({ id: 'pool', members: members(MEMBERS), strategy })
      const guarded = guard({ pool })
      const call = () => guarded.run(succeed)
      return {
        samples: await pairs(succeeding(call), {
          calls: TOGETHER,
          async run(times) {
            for (let i = 0; i < times; i++) {
              const all = new Array(TOGETHER)
              for (let j = 0; j < TOGETHER; j++) all[j] = call()
              await Promise.all(all)
            }
          },
        }),
      }
    },
  })),
}
