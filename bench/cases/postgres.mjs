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
    title: 'Dead letters in PostgreSQL, a thousand at a time',
    note:
      'A thousand callers add one entry each, and each is told when its own is on the disk; against the same records in one ' +
      'hand-written statement, into a table that is found by id and key and taken by age. Both flush. 2.5 times as long is 40 % of the rate.',
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
      'A worker takes 50 at a time and completes each, until a thousand are done; against a hand-written loop with SKIP LOCKED that ' +
      'takes 50 in one statement and completes the 50 in another.',
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
    title: 'Replaying dead letters in PostgreSQL by several processes',
    note:
      'Two thousand entries, replayed by 1, 2, 4 and 8 processes with handlers that do nothing, from the moment all are ready; against ' +
      'as many processes with a plain loop, in turns: BEGIN, SELECT … FOR UPDATE SKIP LOCKED LIMIT 1, UPDATE, COMMIT. Both flush. ' +
      '1.67 times as long is 60 % of the rate. Time per entry should fall with more processes for as long as there are cores for them.',
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
