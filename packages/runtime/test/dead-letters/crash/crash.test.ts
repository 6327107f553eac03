import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../../store/src/open/open-store.js'
import { PostgresServer } from '../../../../store/test/postgres-server.js'
import { compileChild, runChild, startTarget } from './processes.js'

/** A long run is 50 rounds of 1000 entries. */
const [ROUNDS, ENTRIES] = process.env.HOLDFAST_CRASH === undefined ? [5, 100] : [50, 1000]

/** A lease is over by then. */
const LATER = 6 * 60_000

/** True at the n-th line of a kind: at random points of whatever else the process is doing then. */
function nth(n: number, kind: string): (line: string) => boolean {
  let count = 0
  return (line) => line.startsWith(kind) && ++count === n
}

let program: string
beforeAll(async () => {
  program = await compileChild()
})

const server = await PostgresServer.start()
afterAll(() => server?.remove())
const kinds = ['files', 'sqlite', ...(server === undefined ? [] : ['postgres'])]

describe.each(kinds)('processes killed on one store, %s', (kind) => {
  it(`keep what they were promised, and the target holds each exactly once (${ROUNDS} × ${ENTRIES})`, {
    timeout: ROUNDS * 60_000,
  }, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-crash-'))
    const target = await startTarget()
    onTestFinished(async () => {
      await target.close()
      await rm(dir, { recursive: true, force: true })
    })
    const url =
      { files: `files:${dir}`, sqlite: `sqlite:${join(dir, 'holdfast.db')}` }[kind] ?? `${server?.url}`
    const random = seededRandom(20261115)
    const upTo = (most: number) => 1 + Math.floor(random() * most)
    const task = { store: url, dir, target: target.url, ahead: 0, from: 0, to: 0 }

    // Entries are handed in by processes that are killed.
    const kept = new Map<string, number>()
    const share = Math.ceil(ENTRIES / ROUNDS)
    for (let round = 0; round < ROUNDS; round++) {
      const from = round * share
      const lines = await runChild(
        program,
        { ...task, mode: 'enqueue', from, to: from + 2 * share },
        nth(share - upTo(share / 4), 'kept'),
      )
      for (const line of lines) {
        const [word, item, id] = line.split(' ')
        if (word === 'kept') kept.set(id as string, Number(item))
      }
    }
    expect(kept.size).toBeGreaterThan(ENTRIES / 2)

    // They are replayed, two processes at a time, which are killed too.
    const completed: string[] = []
    const replay = async (round: number, kill: () => (line: string) => boolean) => {
      const both = [0, 1].map(() =>
        runChild(program, { ...task, mode: 'replay', ahead: round * LATER }, kill()),
      )
      for (const lines of await Promise.all(both))
        for (const line of lines)
          if (line.startsWith('completed ')) completed.push(line.slice('completed '.length))
    }
    for (let round = 0; round < ROUNDS; round++)
      await replay(round, () => {
        const point = ['called', 'answered', 'completed'][Math.floor(random() * 3)] as string
        return nth(upTo(Math.max(1, kept.size / ROUNDS / 2)), point)
      })
    await replay(ROUNDS, () => () => false)

    const store = await openStore(url, { dir })
    onTestFinished(() => store.close())
    // oxlint-disable-next-line holdfast/clock -- what real processes left behind is looked at in real time
    const now = new Date(Date.now() + (ROUNDS + 1) * LATER)
    const { items } = await store.deadLetters.list({ limit: Number.POSITIVE_INFINITY }, now)
    expect(items.every(({ status, processed }) => status === 'completed' && processed)).toBe(true)
    const there = new Set(items.map(({ dlqId }) => dlqId))
    expect([...kept.keys()].filter((id) => !there.has(id))).toEqual([])
    // What was being written when the process died may be there too: it was not promised, and is replayed like the rest.
    const byKey = new Map(items.map(({ idempotencyKey, itemId }) => [idempotencyKey, itemId]))
    expect(new Map([...target.held].map(([key, item]) => [key, `item-${item}`]))).toEqual(byKey)
    expect(target.requests()).toBeGreaterThanOrEqual(items.length)
    expect(new Set(completed).size).toBe(completed.length)
    for (const { dlqId } of items) expect(await store.deadLetters.isProcessed(dlqId)).toBe(true)
  })
})
