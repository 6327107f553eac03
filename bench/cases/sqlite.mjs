/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/sqlite.mjs')

/** @type {import('./index.mjs').Case[]} */
export const sqlite = [
  {
    name: 'sqlite-adds',
    title: 'Dead letters in SQLite, a thousand at a time',
    note:
      'A thousand callers add one entry each, found by id, key, operation, status and age, and each is told when its own is on ' +
      'the disk; against the same records in one transaction of the driver alone, into a table with an id and a text. Both ' +
      'flush. 2.5 times as long is 40 % of the rate.',
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
      'Sixty pages of 100 each, one after the other: of one operation, pending and from a time on; the same from the oldest ' +
      'on; failed ones of all operations before a time, the newest first; anything. And the statistics of all. In time of the ' +
      'processor.',
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
    title: 'Keeping the records of a failed call in SQLite',
    note:
      'A session, and an event and an error record for each attempt: what the store itself costs, in time of the processor, with ' +
      'eight calls a turn.',
    metrics: [{ key: 'call', title: 'per failed call', unit: 'nanoseconds', spread: true }],
    rounds: 2,
    subjects: [1, 3].map((attempts) => ({
      label: attempts === 1 ? 'one attempt' : `${attempts} attempts`,
      bounds: { call: 60_000 },
      measure: async () => ({ samples: { call: await (await measure()).records(attempts) } }),
    })),
  },
]
