// A process that is about to be killed: it adds, leases and settles entries, several at a time, and says on stdout what
// the store has promised it.
import { writeSync } from 'node:fs'
import { seeded } from './random.mjs'

const [bundle, url, name, seed, entries, hour] =
  /** @type {[string, string, string, string, string, string]} */ (
    /** @type {unknown} */ (process.argv.slice(2))
  )
const { openStore } = await import(bundle)
const random = seeded(Number(seed))

// An hour for each round, so that what the killed held is free again in the next.
const now = new Date(Date.UTC(2026, 0, 1) + Number(hour) * 3_600_000)
const until = new Date(now.getTime() + 600_000)

const store = await openStore(url)
let left = Number(entries)
let added = 0

/** @param {string} what @param {string} id */
const say = (what, id) => writeSync(1, `${what} ${id}\n`)

async function add() {
  const batch = Array.from({ length: Math.min(left, 1 + Math.floor(random() * 3)) }, () => {
    const id = `${name}_${added++}`
    return {
      dlqId: id,
      itemId: id,
      operationType: `operation_${added % 3}`,
      status: 'pending',
      originalPayload: { id, text: 'x'.repeat(Math.floor(random() * 5000)) },
      errorDetails: { errorType: 'Error', errorMessage: 'down', retryCount: 0 },
      createdAt: now,
      lastAttempt: now,
      processed: false,
      idempotencyKey: id,
      policyId: 'default',
    }
  })
  left -= batch.length
  const results = await store.deadLetters.add(batch, { maxEntries: 1_000_000 })
  for (const [i, { result }] of results.entries()) if (result === 'added') say('added', batch[i].dlqId)
}

async function replay() {
  const want = { statuses: ['pending', 'failed'], limit: 2 }
  const leased = await store.deadLetters.leaseNext(want, name, until, now)
  for (const { dlqId } of leased) {
    const draw = random()
    const error = { errorType: 'Error', errorMessage: 'again', retryCount: 0 }
    const settlement = draw < 0.8 ? { status: 'completed', at: now } : { status: 'failed', at: now, error }
    const settled = await store.deadLetters.settle(dlqId, name, settlement)
    if (settled !== undefined) say(settlement.status, dlqId)
  }
  return leased.length
}

/** Adds all it has to add, then replays until nothing is left. */
async function work() {
  for (;;) {
    if (left > 0 && random() < 0.6) await add()
    else if ((await replay()) === 0 && left === 0) return
  }
}

await Promise.all(Array.from({ length: 6 }, work))
await store.close()
