import { succeed } from '../work.mjs'
import { RATIO, successes } from './against-bare.mjs'

/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/runtime.mjs')

/** @type {import('./index.mjs').Case[]} */
export const runtime = [
  {
    name: 'runtime-success',
    title: 'A call under the runtime that succeeds',
    note: 'Against a bare `await fn()`: the operation is looked up, the call can be listed and cancelled, and is counted.',
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
    title: 'A call under the runtime that fails three times',
    note:
      'Processor time beyond the same call under a guard of the engine alone: a session, events, error records and counters, ' +
      'and bringing them to the store.',
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
    note: 'Every minute of the day counted calls of 20 policies. A counter is as large for 60 calls a minute as for 60,000.',
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
    note: 'Until it is in force, while calls run one after another; and the longest that one of them had to wait.',
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
    title: 'What the runtime holds',
    note: 'Heap for 10,000 attempts and 100 breakers, and what another million calls add.',
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
