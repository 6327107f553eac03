// Another process that uses a file: node CHILD MODE FILE NAME. It prints acknowledged entries, one per line.
import { writeSync } from 'node:fs'
import { openSqliteDriver } from '../src/sqlite/driver.js'
import { openSqlite } from '../src/sqlite/index.js'
import { at, letter } from './contract/records.js'

const [mode = '', file = '', name = ''] = process.argv.slice(2)

const say = (line: string) => writeSync(1, `${line}\n`)
const entry = (n: number) =>
  letter(n, { dlqId: `${name}_${n}`, idempotencyKey: `${name}_${n}`, originalPayload: { name, n } })
const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** Adds and replays until it is killed. */
async function toil(): Promise<void> {
  const store = openSqlite(file)
  await store.open()
  const { deadLetters } = store
  for (let n = 0; ; n += 4) {
    await Promise.all(
      [n, n + 1, n + 2, n + 3].map(async (one) => {
        await deadLetters.add([entry(one)], NO_LIMIT)
        say(`added ${entry(one).dlqId}`)
      }),
    )
    const want = { statuses: ['pending'] as const, limit: 2 }
    const leased = await deadLetters.leaseNext(want, name, at(1000), at(0))
    for (const { dlqId } of leased) {
      const settled = await deadLetters.settle(dlqId, name, { status: 'completed', at: at(1) })
      if (settled !== undefined) say(`completed ${dlqId}`)
    }
  }
}

/** Adds a hundred entries concurrently, and leases and completes as many as it can. */
async function share(): Promise<void> {
  const store = openSqlite(file)
  await store.open()
  const { deadLetters } = store
  await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      await deadLetters.add([entry(n)], NO_LIMIT)
      await store.events.append([])
    }),
  )
  for (;;) {
    const leased = await deadLetters.leaseNext({ statuses: ['pending'], limit: 7 }, name, at(1000), at(0))
    if (leased.length === 0) break
    for (const { dlqId } of leased)
      if (await deadLetters.settle(dlqId, name, { status: 'completed', at: at(1) })) say(`completed ${dlqId}`)
  }
  await store.close()
}

/** Holds the lock until it receives input. */
async function hold(): Promise<void> {
  const driver = await openSqliteDriver(file)
  driver.exec('BEGIN IMMEDIATE')
  say('held')
  process.stdin.once('data', () => {
    driver.exec('COMMIT')
    driver.close()
    process.stdin.destroy()
  })
}

const work: Record<string, () => Promise<void>> = { toil, share, hold }
await work[mode]?.()
