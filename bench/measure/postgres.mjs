// The store is not part of the public API, so its sources are measured, on a separate PostgreSQL server with fsync.
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { bundleSources, letter, loadSources, START } from './sources.mjs'

/**
 * @typedef {typeof import('../../packages/store/src/postgres/index.js')} Index
 * @typedef {typeof import('../../packages/store/test/postgres-server.js')} Servers
 * @typedef {ReturnType<Index['openPostgres']>} Store
 * @typedef {import('../../packages/records/src/dead-letter.js').DeadLetter} DeadLetter
 */

/** @returns {Promise<Index & Servers>} */
const load = () =>
  loadSources(
    'postgres',
    `export { openPostgres } from './packages/store/src/postgres/index.ts'
        export { PostgresServer } from './packages/store/test/postgres-server.ts'`,
  )

/**
 * A queue written by hand: a table with unique ids and keys, from which the oldest entry is taken first.
 */
const BY_HAND = `CREATE TABLE letters (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, key text NOT NULL UNIQUE,
    operation text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL, leased_until timestamptz, owner text,
    entry text NOT NULL
  );
  CREATE INDEX letters_open ON letters (created_at, seq) WHERE status <> 'completed'`

const INSERT = `INSERT INTO letters (id, key, operation, status, created_at, entry)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
  ON CONFLICT DO NOTHING`

const TAKE = `UPDATE letters SET status = 'replaying', leased_until = now() + interval '5 minutes', owner = $1
  WHERE seq IN (SELECT seq FROM letters WHERE status = 'pending' ORDER BY created_at, seq LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING seq, entry`

const DONE = `UPDATE letters SET status = 'completed', leased_until = NULL WHERE seq = ANY($1::bigint[]) AND owner = $2`

/**
 * @template T
 * @param {(store: Store, raw: pg.Client, url: string) => Promise<T>} work
 */
async function withStore(work) {
  const { openPostgres, PostgresServer } = await load()
  const server = await PostgresServer.start({ fsync: 'on' })
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  const store = openPostgres(server.url, { spillDir: join(dir, 'spill') })
  const raw = new pg.Client({ connectionString: server.url })
  try {
    await store.open()
    await raw.connect()
    await raw.query(BY_HAND)
    return await work(store, raw, server.url)
  } finally {
    await raw.end()
    await store.close()
    await server.remove()
    await rm(dir, { recursive: true })
  }
}

const TOGETHER = 1000
const ROUNDS = 20
const WARM_UP = 5

/** @param {pg.Client} raw @param {DeadLetter[]} letters */
async function insertByHand(raw, letters) {
  await raw.query(INSERT, [
    letters.map(({ dlqId }) => dlqId),
    letters.map(({ idempotencyKey }) => idempotencyKey),
    letters.map(({ operationType }) => operationType),
    letters.map(({ status }) => status),
    letters.map(({ createdAt }) => createdAt.toISOString()),
    letters.map((each) => JSON.stringify(each)),
  ])
}

/** @param {Store} store @param {DeadLetter[]} letters */
const addAll = (store, letters) =>
  Promise.all(letters.map((each) => store.deadLetters.add([each], { maxEntries: 1e9 })))

/**
 * Runs both in turns, each before the other every second time.
 *
 * @param {(letters: DeadLetter[]) => Promise<number>} bare milliseconds
 * @param {(letters: DeadLetter[]) => Promise<number>} ours
 */
async function inTurns(bare, ours) {
  /** @type {{ ratio: number[], perEntry: number[] }} */
  const samples = { ratio: [], perEntry: [] }
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const letters = Array.from({ length: TOGETHER }, (_, i) => letter(round * TOGETHER + i))
    const before = round % 2 === 0 ? await bare(letters) : undefined
    const took = await ours(letters)
    const bareTook = before ?? (await bare(letters))
    if (round < WARM_UP) continue
    samples.ratio.push(took / bareTook)
    samples.perEntry.push((took * 1e6) / TOGETHER)
  }
  return samples
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** A thousand callers that add an entry each, and one hand-written statement with the same entries. */
export const adds = () =>
  withStore((store, raw) =>
    inTurns(
      (letters) => timed(() => insertByHand(raw, letters)),
      (letters) => timed(() => addAll(store, letters)),
    ),
  )

/** How many are taken at a time. */
const TAKEN = 50

/** Taking leases and completing what was leased until nothing is left, and a hand-written loop that does the same. */
export const leases = () =>
  withStore((store, raw) =>
    inTurns(
      async (letters) => {
        await insertByHand(raw, letters)
        return timed(async () => {
          for (;;) {
            const { rows } = await raw.query(TAKE, ['me', TAKEN])
            if (rows.length === 0) return
            for (const { entry } of rows) JSON.parse(entry)
            await raw.query(DONE, [rows.map(({ seq }) => seq), 'me'])
          }
        })
      },
      async (letters) => {
        await addAll(store, letters)
        const [now, until] = [new Date(START + 1e9), new Date(START + 2e9)]
        return timed(async () => {
          for (;;) {
            const want = { statuses: /** @type {const} */ (['pending']), limit: TAKEN }
            const taken = await store.deadLetters.leaseNext(want, 'me', until, now)
            if (taken.length === 0) return
            await Promise.all(
              taken.map(({ dlqId }) =>
                store.deadLetters.settle(dlqId, 'me', { status: 'completed', at: now }),
              ),
            )
          }
        })
      },
    ),
  )

/** How many entries the workers share, and how often each number of workers is measured. */
const SHARED = 2000
const RUNS = 3

/**
 * Starts workers, has them replay all there is, and gives how long that took, in milliseconds, from the moment all were ready.
 *
 * @param {'plain' | 'batch' | 'work'} how
 * @param {number} count
 * @param {string} url
 * @param {string} bundle
 * @param {() => Promise<boolean>} isOver
 */
async function shared(how, count, url, bundle, isOver) {
  const children = Array.from({ length: count }, () =>
    fork(join(import.meta.dirname, 'replays-child.mjs'), [how, url, bundle]),
  )
  /** @param {string} word */
  const all = (word) =>
    Promise.all(
      children.map(
        (child) =>
          new Promise((resolve, reject) => {
            child.on('message', (message) => message === word && resolve(undefined))
            child.once('exit', (code) =>
              reject(new Error(`a worker ended with ${code} before it was ${word}`)),
            )
          }),
      ),
    )
  const [ready, done] = [all('ready'), all('done')]
  done.catch(() => {})
  const ended = Promise.all(children.map((child) => new Promise((resolve) => child.once('close', resolve))))
  await ready
  const took = await timed(async () => {
    for (const child of children) child.send('go')
    if (how === 'work') while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 5))
    else await done
  })
  if (how === 'work') for (const child of children) child.send('end')
  await done
  await ended
  return took
}

/**
 * Replays by `count` processes, and by as many that run a plain loop, in turns.
 *
 * @param {'batch' | 'work'} how
 * @param {number} count
 */
export const replays = (how, count) =>
  withStore(async (store, raw, url) => {
    const bundle = await bundleSources(
      'replays',
      `export { Holdfast } from './packages/runtime/src/holdfast/holdfast.ts'`,
    )
    /** @type {{ ratio: number[], perEntry: number[] }} */
    const samples = { ratio: [], perEntry: [] }
    let added = 0
    try {
      for (let run = 0; run < RUNS; run++) {
        const letters = Array.from({ length: SHARED }, (_, i) => letter(run * SHARED + i))
        for (let at = 0; at < SHARED; at += 500) await addAll(store, letters.slice(at, at + 500))
        if (how === 'work')
          await Promise.all(letters.map(({ dlqId }) => store.deadLetters.request(dlqId, new Date())))
        await insertByHand(raw, letters)
        added += SHARED
        const isOver = async () => (await store.deadLetters.stats(new Date())).byStatus.completed >= added
        const bare = () => shared('plain', count, url, bundle, isOver)
        const before = run % 2 === 0 ? await bare() : undefined
        const took = await shared(how, count, url, bundle, isOver)
        samples.ratio.push(took / (before ?? (await bare())))
        samples.perEntry.push((took * 1e6) / SHARED)
      }
      return samples
    } finally {
      await rm(bundle)
    }
  })
