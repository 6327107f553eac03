// A worker that is about to be killed: it adds entries, takes leases and completes what it leased, several at a time, and says
// on stdout what the store has promised it. A line on stdin ends it.
import { writeSync } from 'node:fs'

const [bundle, url, name, spillDir, entries] = /** @type {[string, string, string, string, string]} */ (
  /** @type {unknown} */ (process.argv.slice(2))
)
const { openPostgres, systemClock } = await import(bundle)

/** How long a lease lasts, in milliseconds: what the killed held is free again after it. */
const LEASE = 3000

const NO_LIMIT = { maxEntries: 1_000_000 }

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => systemClock.setTimer(resolve, ms))
const now = () => new Date(systemClock.wall())

/** @param {string} what @param {string} id */
const say = (what, id) => writeSync(1, `${what} ${id}\n`)

const store = openPostgres(url, { spillDir, connections: 3, warn: () => {} })

/** Goes on asking while the database cannot be had. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
async function patiently(work) {
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== 'STORE_UNAVAILABLE') throw error
      await wait(100)
    }
}

let ending = false
process.stdin.once('data', () => {
  ending = true
})

let left = Number(entries)
async function add() {
  while (left > 0) {
    const id = `${name}_${left--}`
    const at = now()
    // No patience here: the store takes it whether or not the database can be had.
    const [added] = await store.deadLetters.add(
      [
        {
          dlqId: id,
          itemId: id,
          operationType: `operation_${left % 3}`,
          status: 'pending',
          originalPayload: { id, text: 'x'.repeat(500) },
          errorDetails: { errorType: 'Error', errorMessage: 'down', retryCount: 0 },
          createdAt: at,
          lastAttempt: at,
          processed: false,
          idempotencyKey: id,
          policyId: 'default',
        },
      ],
      NO_LIMIT,
    )
    if (added.result !== 'added' && added.result !== 'known') throw new Error(`${id} is ${added.result}`)
    say('added', id)
  }
}

async function replay() {
  while (!ending) {
    const until = new Date(systemClock.wall() + LEASE)
    const want = { statuses: ['pending'], limit: 8 }
    const leased = await patiently(() => store.deadLetters.leaseNext(want, name, until, now()))
    await Promise.all(
      leased.map(async (/** @type {{ dlqId: string }} */ { dlqId }) => {
        const settled = await patiently(() =>
          store.deadLetters.settle(dlqId, name, { status: 'completed', at: now() }),
        )
        if (settled !== undefined) say('completed', dlqId)
      }),
    )
    if (leased.length === 0) await wait(50)
  }
}

await patiently(() => store.open())
await Promise.all([add(), add(), add(), add(), replay(), replay()])
await store.close()
process.stdin.destroy()
