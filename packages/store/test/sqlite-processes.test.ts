import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { build } from 'esbuild'
import { seededRandom } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sourceAliases } from '../../../scripts/packages.mjs'
import { at, letter } from './contract/records.js'
import { folder, opened } from './sqlite-place.js'
import { buildSqliteThread } from './sqlite-thread-build.mjs'

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

const ROOT = join(import.meta.dirname, '../../..')
/** In the workspace, so that the driver is found. */
const FOLDER = join(ROOT, '.cache', `sqlite-child-${process.pid}`)
const CHILD = join(FOLDER, 'main.mjs')

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true })
  await buildSqliteThread(FOLDER)
  await build({
    entryPoints: [join(import.meta.dirname, 'sqlite-child.ts')],
    outfile: CHILD,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql'],
    alias: sourceAliases,
  })
})
afterAll(() => rm(FOLDER, { recursive: true, force: true }))

type Child = ChildProcessByStdio<Writable, Readable, null>

function start(mode: 'toil' | 'share' | 'hold', file: string, name = 'child'): Child {
  const child = spawn(process.execPath, [CHILD, mode, file, name], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const linesOf = (child: Child) => createInterface({ input: child.stdout })

async function all(child: Child): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(child)) lines.push(line)
  return lines
}

describe('several processes on one SQLite file', () => {
  it('lose no entry and complete each once', async () => {
    const file = join(await folder(), 'holdfast.db')
    const children = ['a', 'b', 'c'].map((name) => start('share', file, name))
    const completed = (await Promise.all(children.map(all))).flat()
    const store = await opened(file)
    const { total, byStatus } = await store.deadLetters.stats(at(0))
    expect({ total, byStatus }).toEqual({
      total: 300,
      byStatus: { pending: 0, replaying: 0, completed: 300, failed: 0 },
    })
    expect(completed.length).toBe(300)
    expect(new Set(completed).size).toBe(300)
  })

  it('wait for each other', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const child = start('hold', file)
    await once(linesOf(child), 'line')
    let done = false
    const added = store.deadLetters.add([letter(1)], NO_LIMIT).then((results) => {
      done = true
      return results
    })
    // A read does not need the lock.
    const other = await opened(file)
    expect((await other.deadLetters.list(undefined, at(0))).items).toEqual([])
    expect(done).toBe(false)
    child.stdin.write('go on\n')
    expect(await added).toMatchObject([{ result: 'added' }])
  })

  it('report a lock that is held for too long', async () => {
    const file = join(await folder(), 'holdfast.db')
    await opened(file)
    const store = await opened(file, { lockTimeout: 20 })
    const child = start('hold', file)
    await once(linesOf(child), 'line')
    const refused = store.deadLetters.add([letter(1)], NO_LIMIT)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryAfter: 1000 })
    await expect(refused).rejects.toThrow('another process has held its lock for too long')
    const ended = once(child, 'exit')
    child.stdin.write('go on\n')
    await ended
    expect(await store.deadLetters.add([letter(1)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
  })
})

describe('a process on a SQLite file that is killed', () => {
  const ROUNDS = 5
  const ENTRIES = 100

  it('loses no acknowledged entry, and completes none twice', async () => {
    const file = join(await folder(), 'holdfast.db')
    const seed = (process.pid * 7919) % 100_000
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const added: string[] = []
    const completed: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const child = start('toil', file, `round${round}`)
      const ended = once(child, 'exit')
      const last = ENTRIES / 2 + Math.floor(random() * ENTRIES)
      let heard = 0
      for await (const line of linesOf(child)) {
        const [what, id = ''] = line.split(' ')
        ;(what === 'added' ? added : completed).push(id)
        // Output that arrives after the kill counts too.
        if (++heard === last) child.kill('SIGKILL')
      }
      await ended

      const store = await opened(file)
      for (const id of added) expect(await store.deadLetters.get(id, at(0)), `seed ${seed}`).toBeDefined()
      for (const id of completed) {
        expect(await store.deadLetters.isProcessed(id), `seed ${seed}`).toBe(true)
        expect(await store.deadLetters.get(id, at(0))).toMatchObject({ status: 'completed', processed: true })
      }
      const { total, byStatus } = await store.deadLetters.stats(at(0))
      const { items } = await store.deadLetters.list({ limit: Number.POSITIVE_INFINITY }, at(0))
      expect(items.length).toBe(total)
      for (const status of ['pending', 'replaying', 'completed', 'failed'] as const)
        expect(items.filter((item) => item.status === status).length).toBe(byStatus[status])
      await store.close()
    }
    expect(new Set(completed).size).toBe(completed.length)
    expect(completed.length).toBeGreaterThan(ROUNDS)
  })
})
