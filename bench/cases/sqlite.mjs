import { join } from 'node:path'

/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/sqlite.mjs')

/** @param {(dir: string) => string} store */
const stalls = async (store) => ({ samples: await (await import('../measure/stalls.mjs')).stalls(store) })

/** @type {import('./index.mjs').Case[]} */
export const sqlite = [
  {
    name: 'sqlite-stalls',
    title: 'Delay of the event loop while a runtime writes to SQLite',
    note:
      'Every 10 ms two calls succeed, and two calls fail three times and become dead letters: sessions, events, error ' +
      'records, counters and dead letters with a payload of 1 kB. 25 seconds without load, then 25 seconds with load; ' +
      'monitorEventLoopDelay with a resolution of 1 ms. The store in memory is the control: its delay is that of the ' +
      'calls themselves. Other busy processes delay the event loop too, so a bound is only valid on a quiet machine.',
    metrics: [
      { key: 'beyond', title: 'p99.9, load − idle', unit: 'milliseconds' },
      { key: 'idle', title: 'p99.9 idle', unit: 'milliseconds' },
      { key: 'loaded', title: 'p99.9 load', unit: 'milliseconds' },
      { key: 'idleMax', title: 'max idle', unit: 'milliseconds' },
      { key: 'loadedMax', title: 'max load', unit: 'milliseconds' },
    ],
    rounds: 3,
    subjects: [
      {
        label: 'the SQLite store',
        bounds: { beyond: 10 },
        measure: () => stalls((dir) => `sqlite:${join(dir, 'store.db')}`),
      },
      { label: 'memory', measure: () => stalls(() => 'memory') },
    ],
  },
  {
    name: 'sqlite-adds',
    title: 'Adding dead letters to SQLite, a thousand at a time',
    note:
      'A thousand callers add one entry each, with indexes for id, key, operation, status and age, and each call ' +
      'resolves when its entry is on disk. Compared with the same records in one transaction of the driver ' +
      'alone, into a table with an id and a text. Both flush. 2.5 times the time is 40 % of the rate.',
    metrics: [
      { key: 'ratio', title: 'time ÷ raw driver', unit: 'times', spread: true },
      { key: 'perEntry', title: 'per entry', unit: 'nanoseconds' },
    ],
    rounds: 2,
    subjects: [
      {
        label: 'the SQLite store',
        bounds: { ratio: 2.5 },
        measure: async () => ({ samples: await (await measure()).adds() }),
      },
    ],
  },
  {
    name: 'sqlite-lists',
    title: 'Listing 100 of a million dead letters in SQLite',
    note:
      'Sixty pages of 100 entries, one after another: pending entries of one operation from a time on; the same ' +
      'from the oldest entry; failed entries of all operations before a time, newest first; all entries. And the ' +
      'statistics of all entries. Processor time.',
    metrics: [
      { key: 'age', title: 'operation, status, age', unit: 'milliseconds', spread: true },
      { key: 'oldest', title: 'operation, status', unit: 'milliseconds' },
      { key: 'failed', title: 'status, age, newest', unit: 'milliseconds' },
      { key: 'any', title: 'anything', unit: 'milliseconds' },
      { key: 'stats', title: 'statistics', unit: 'milliseconds' },
    ],
    rounds: 1,
    subjects: [
      {
        label: 'the SQLite store',
        bounds: { age: 5, oldest: 5, failed: 5, any: 5 },
        measure: async () => ({ samples: await (await measure()).lists() }),
      },
    ],
  },
  {
    name: 'sqlite-records',
    title: 'Storing the records of a failed call in SQLite',
    note:
      'A session, and an event and an error record for each attempt: the processor time of the store itself, ' +
      'with eight calls per turn of the event loop.',
    metrics: [{ key: 'call', title: 'per failed call', unit: 'nanoseconds', spread: true }],
    rounds: 2,
    subjects: [1, 3].map((attempts) => ({
      label: attempts === 1 ? 'one attempt' : `${attempts} attempts`,
      bounds: { call: 60_000 },
      measure: async () => ({ samples: { call: await (await measure()).records(attempts) } }),
    })),
  },
]
