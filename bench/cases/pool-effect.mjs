/** @typedef {import('../measure/fleet.mjs').Setup} Setup */

/** @param {Setup} setup */
const simulate = async (setup) => (await import('../measure/fleet.mjs')).fleet(setup)

/** @param {Awaited<ReturnType<typeof simulate>>} told */
const samplesOf = ({ success, firstRetry, wasted, p95 }) => ({
  success: [100 * success],
  ...(Number.isNaN(firstRetry) ? {} : { firstRetry: [100 * firstRetry] }),
  wasted: [wasted],
  p95: [p95],
})

const DEFAULT = {}

/** @type {import('./index.mjs').Case} */
export const poolEffect = {
  name: 'pool-effect',
  title: 'The effect of pools, breakers and retries on calls to members that fail',
  note:
    'A simulation with a seed: 100 members, of which 40 fail 3 % of the time, 40 fail 45 % and 20 fail 90 %; ' +
    '50 calls per second for ten minutes of virtual time. Without breakers they never open. For success and ' +
    'first retries higher is better. A wasted attempt is one to a member that fails over 70 % of the time. The ' +
    'last column is the 95th percentile of the time of calls that were retried.',
  metrics: [
    { key: 'success', title: 'success', unit: 'percent' },
    { key: 'firstRetry', title: 'first retries', unit: 'percent' },
    { key: 'wasted', title: 'wasted', unit: 'count' },
    { key: 'p95', title: 'p95', unit: 'milliseconds' },
  ],
  rounds: 1,
  subjects: [
    {
      label: 'a single attempt, random, no breakers',
      measure: async () => ({
        samples: samplesOf(await simulate({ strategy: 'random', breakers: false, retry: false })),
      }),
    },
    {
      label: 'default retries, random, no breakers',
      measure: async () => ({
        samples: samplesOf(await simulate({ strategy: 'random', breakers: false, retry: DEFAULT })),
      }),
    },
    {
      label: 'default retries, score, no breakers',
      async measure() {
        const by = await simulate({ strategy: 'score', breakers: false, retry: DEFAULT })
        const base = await simulate({ strategy: 'random', breakers: false, retry: DEFAULT })
        return {
          samples: samplesOf(by),
          checks: {
            'first retries succeed 20 % more often than by random': by.firstRetry >= 1.2 * base.firstRetry,
          },
        }
      },
    },
    {
      label: 'default retries, random, breakers',
      async measure() {
        const by = await simulate({ strategy: 'random', breakers: true, retry: DEFAULT })
        const base = await simulate({ strategy: 'random', breakers: false, retry: DEFAULT })
        const single = await simulate({ strategy: 'random', breakers: false, retry: false })
        return {
          samples: samplesOf(by),
          checks: {
            'wasted attempts down by 80 % against no breakers': by.wasted <= 0.2 * base.wasted,
            'success up by 15 points against a single attempt': by.success >= single.success + 0.15,
            'p95 of retried calls < 5 s': by.p95 < 5000,
          },
        }
      },
    },
    {
      label: 'five attempts, random, breakers',
      async measure() {
        const by = await simulate({ strategy: 'random', breakers: true, retry: { maxAttempts: 5 } })
        return {
          samples: samplesOf(by),
          checks: { '90 % of successes within two retries': by.withinTwo >= 0.9 },
        }
      },
    },
    {
      label: 'default retries, score, breakers',
      async measure() {
        const by = await simulate({ strategy: 'score', breakers: true, retry: DEFAULT })
        return { samples: samplesOf(by), checks: { 'p95 of retried calls < 5 s': by.p95 < 5000 } }
      },
    },
  ],
}
