/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/shared.mjs')

/** @type {import('./index.mjs').Case[]} */
export const fleet = [
  {
    name: 'fleet-success',
    title: 'A call that succeeds, with Redis',
    note:
      'Through a breaker that a fleet shares, alternating with the same call through a breaker that is not ' +
      'shared.',
    metrics: [
      { key: 'perCall', title: 'per call', unit: 'nanoseconds' },
      { key: 'ratio', title: '× without', unit: 'times', spread: true },
      { key: 'commands', title: 'commands per 1,000 calls', unit: 'count' },
    ],
    rounds: 3,
    subjects: [
      {
        label: 'the runtime',
        bounds: { ratio: 1.1, commands: 2 },
        measure: async () => ({ samples: await (await measure()).attached() }),
      },
    ],
  },
  {
    name: 'fleet-opening',
    title: 'A breaker that opens in 20 processes',
    note: 'From the moment a breaker is open in the process that opened it until it is open in each other process.',
    metrics: [
      { key: 'p50', title: 'half of them', unit: 'milliseconds' },
      { key: 'p99', title: '99 in 100', unit: 'milliseconds' },
    ],
    rounds: 1,
    subjects: [
      {
        label: 'the runtime',
        bounds: { p99: 200 },
        measure: async () => ({ samples: await (await measure()).openings() }),
      },
    ],
  },
]
