/** Loaded by the process that measures, not by the one that lists. */
const measure = () => import('../measure/postgres.mjs')

/** @type {import('./index.mjs').Metric[]} */
const metrics = [
  { key: 'ratio', title: 'time ÷ by hand', unit: 'times', spread: true },
  { key: 'perEntry', title: 'per entry', unit: 'nanoseconds' },
]

/** @type {import('./index.mjs').Case[]} */
export const postgres = [
  {
    name: 'postgres-adds',
    title: 'Adding dead letters to PostgreSQL, a thousand at a time',
    note:
      'A thousand callers add one entry each, and each call resolves when its entry is on disk. Compared with ' +
      'the same records in one hand-written statement, into a table with indexes for id, key and age. Both ' +
      'flush. 2.5 times the time is 40 % of the rate.',
    metrics,
    rounds: 2,
    subjects: [
      {
        label: 'the PostgreSQL store',
        bounds: { ratio: 2.5 },
        measure: async () => ({ samples: await (await measure()).adds() }),
      },
    ],
  },
  {
    name: 'postgres-leases',
    title: 'Leasing and completing dead letters in PostgreSQL',
    note:
      'A worker leases 50 entries at a time and completes each, until a thousand are completed. Compared with a ' +
      'hand-written loop with SKIP LOCKED that leases 50 in one statement and completes them in another.',
    metrics,
    rounds: 2,
    subjects: [
      {
        label: 'the PostgreSQL store',
        bounds: { ratio: 2.5 },
        measure: async () => ({ samples: await (await measure()).leases() }),
      },
    ],
  },
  {
    name: 'postgres-replays',
    title: 'Replaying dead letters in PostgreSQL with several processes',
    note:
      'Two thousand entries, replayed by 1, 2, 4 and 8 processes with handlers that do nothing, measured from ' +
      'the moment all processes are ready. Alternating with the same number of processes that run a plain loop: ' +
      'BEGIN, SELECT … FOR UPDATE SKIP LOCKED LIMIT 1, UPDATE, COMMIT. Both flush. 1.67 times the time is 60 % ' +
      'of the rate. The time per entry should fall with more processes while there are cores for them.',
    metrics,
    rounds: 1,
    subjects: /** @type {const} */ (['batch', 'work']).flatMap((how) =>
      [1, 2, 4, 8].map((count) => ({
        label: `${how === 'batch' ? 'replayBatch' : 'work'} in ${count === 1 ? 'one process' : `${count} processes`}`,
        ...(count === 8 ? { bounds: { ratio: 1 / 0.6 } } : {}),
        measure: async () => ({ samples: await (await measure()).replays(how, count) }),
      })),
    ),
  },
]
