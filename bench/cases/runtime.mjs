import { succeed } from '../work.mjs'
import { RATIO, successes } from './against-bare.mjs'

/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/runtime.mjs')

/** @type {import('./index.mjs').Case[]} */
export const runtime = [
  {
    name: 'runtime-success',
    title: 'A call of the runtime that succeeds',
    note:
      'Against a bare `await fn()`. The runtime finds the operation, lists the call so that it can be cancelled, ' +
      'and counts it.',
    metrics: RATIO,
    rounds: 3,
    subjects: [
      {
        label: 'hf.run(operation, fn)',
        bounds: { ratio: 5 },
        async measure() {
          const hf = await (await measure()).open()
          const measured = await successes(() => hf.run('quick', succeed))
          await hf.close()
          return measured
        },
      },
    ],
  },
  {
    name: 'runtime-failure',
    title: 'A call of the runtime that fails three times',
    note:
      'Processor time beyond the same call through a guard of the engine alone: a session, events, error ' +
      'records, counters, and writing them to the store.',
    metrics: [{ key: 'beyond', title: 'beyond the engine', unit: 'nanoseconds', spread: true }],
    rounds: 2,
    subjects: [
      {
        label: 'in memory',
        bounds: { beyond: 40_000 },
        measure: async () => ({ samples: await (await measure()).failures('memory') }),
      },
      {
        label: 'in SQLite',
        bounds: { beyond: 60_000 },
        measure: async () => ({ samples: await (await measure()).failures('sqlite') }),
      },
    ],
  },
  {
    name: 'runtime-queries',
    title: 'Metrics of 24 hours',
    note:
      'Each minute of the day has calls of 20 policies. The size of a counter does not depend on the number of ' +
      'calls.',
    metrics: [
      { key: 'window', title: 'window', unit: 'milliseconds', spread: true },
      { key: 'series', title: 'series', unit: 'milliseconds' },
      { key: 'summary', title: 'summary', unit: 'milliseconds' },
    ],
    rounds: 1,
    subjects: [
      {
        label: 'the runtime',
        bounds: { window: 10, series: 10, summary: 10 },
        measure: async () => ({ samples: await (await measure()).queries() }),
      },
    ],
  },
  {
    name: 'runtime-reload',
    title: 'Reloading a file with 1,000 policies',
    note:
      'The time until the new configuration is active, while calls run one after another; and the longest time ' +
      'that one of these calls had to wait.',
    metrics: [
      { key: 'reload', title: 'reload', unit: 'milliseconds', spread: true },
      { key: 'stall', title: 'longest stall', unit: 'milliseconds', spread: true },
    ],
    rounds: 1,
    subjects: [
      {
        label: 'the runtime',
        bounds: { reload: 1000, stall: 50 },
        measure: async () => ({ samples: await (await measure()).reloads() }),
      },
    ],
  },
  {
    name: 'runtime-memory',
    title: 'The memory of the runtime',
    note: 'Heap for 10,000 attempts and 100 breakers, and the growth after another million calls.',
    metrics: [
      { key: 'held', title: 'held', unit: 'bytes' },
      { key: 'grown', title: 'added by a million calls', unit: 'bytes' },
    ],
    rounds: 1,
    subjects: [
      {
        label: 'the runtime',
        bounds: { held: 2_500_000, grown: 500_000 },
        measure: async () => ({ samples: await (await measure()).memory() }),
      },
    ],
  },
]
