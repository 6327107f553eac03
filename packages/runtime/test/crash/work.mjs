import { writeSync } from 'node:fs'
import { seeded } from './random.mjs'

/** The largest number of characters in a payload. */
const MAX_TEXT = 5000
/** How many entries are deleted together. */
const PURGE_BATCH = 50

/** Writes a line to stdout before it returns, so that a process that is killed later has written it. @param {string} line */
export function say(line) {
  for (;;)
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      // The pipe is full until the reader continues. Node.js makes it non-blocking when it starts a thread.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EAGAIN') throw error
    }
}

/**
 * The work of a process that is about to be killed: it adds, leases and settles entries, several at a time, and writes to stdout
 * what the store has acknowledged.
 *
 * @param {any} store
 * @param {object} options
 * @param {string} options.name the beginning of the ids, and the owner of the leases
 * @param {number} options.seed
 * @param {number} options.entries how many entries are added at most
 * @param {number} options.hour the time of the process, so that the leases of killed processes have expired for later ones
 * @param {number} [options.concurrency]
 * @param {number} [options.steps] how many calls each of the concurrent loops makes at most
 */
export function createWork(store, { name, seed, entries, hour, concurrency = 6, steps = Infinity }) {
  const { deadLetters } = store
  const random = seeded(seed)
  const now = new Date(Date.UTC(2026, 0, 1) + hour * 3_600_000)
  const until = new Date(now.getTime() + 600_000)
  let left = entries
  let added = 0

  async function add() {
    const batch = Array.from({ length: Math.min(left, 1 + Math.floor(random() * 3)) }, () => {
      const id = `${name}_${added++}`
      const size = Math.floor(random() * MAX_TEXT)
      return {
        dlqId: id,
        itemId: id,
        operationType: `operation_${added % 3}`,
        status: 'pending',
        originalPayload: { id, size, text: 'x'.repeat(size) },
        errorDetails: { errorType: 'Error', errorMessage: 'down', retryCount: 0 },
        createdAt: now,
        lastAttempt: now,
        processed: false,
        idempotencyKey: id,
        policyId: 'default',
      }
    })
    left -= batch.length
    const results = await deadLetters.add(batch, { maxEntries: 1_000_000 })
    for (const [i, { result }] of results.entries()) if (result === 'added') say(`added ${batch[i]?.dlqId}`)
  }

  async function replay() {
    const want = { statuses: ['pending', 'failed'], limit: 2 }
    const leased = await deadLetters.leaseNext(want, name, until, now)
    for (const { dlqId } of leased) {
      const error = { errorType: 'Error', errorMessage: 'again', retryCount: 0 }
      const settlement =
        random() < 0.8 ? { status: 'completed', at: now } : { status: 'failed', at: now, error }
      const settled = await deadLetters.settle(dlqId, name, settlement)
      if (settled !== undefined) say(`${settlement.status} ${dlqId}`)
    }
    return leased.length
  }

  async function repeat() {
    for (let step = 0; step < steps; step++)
      if (left > 0 && random() < 0.6) await add()
      else if ((await replay()) === 0 && left === 0) return
  }

  return {
    /** Adds all entries and replays until nothing is left, or until all steps are done. */
    async addAndReplay() {
      await Promise.all(Array.from({ length: concurrency }, repeat))
    },

    /** Deletes some completed entries. */
    async purge() {
      const { items } = await deadLetters.list({ status: 'completed', limit: PURGE_BATCH }, now)
      const ids = items.map((/** @type {{ dlqId: string }} */ { dlqId }) => dlqId)
      for (const id of ids) say(`purging ${id}`)
      await deadLetters.purge({ ids }, now)
      for (const id of ids) say(`purged ${id}`)
    },
  }
}
