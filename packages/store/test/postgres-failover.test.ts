import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openPostgres, type PostgresStore } from '../src/postgres/index.js'
import { at, letter } from './contract/records.js'
import { tempFolder } from './place.js'
import { LONG_TIMEOUTS, PostgresServer } from './postgres-server.js'
import { smallDisk, unmount } from './small-disk.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** The address of a database, which points to another server after a failover. */
class Address {
  target: number
  private readonly sockets = new Set<Socket>()
  private readonly server: Server

  private constructor(target: number) {
    this.target = target
    this.server = createServer((near) => {
      const far = connect(this.target, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(from)
        from.on('error', () => {})
        from.on('close', () => {
          this.sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
  }

  static async listen(target: number): Promise<Address> {
    const address = new Address(target)
    await new Promise<void>((resolve) => address.server.listen(0, '127.0.0.1', resolve))
    return address
  }

  get port(): number {
    return (this.server.address() as { port: number }).port
  }

  /** Ends all connections, and connects new ones to another server. */
  moveTo(target: number): void {
    this.target = target
    for (const socket of this.sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.moveTo(this.target)
    await new Promise((resolve) => this.server.close(resolve))
  }
}

/** A store whose warnings are collected. */
async function openStore(url: string, schema: string): Promise<{ store: PostgresStore; warnings: string[] }> {
  const dir = await tempFolder()
  const warnings: string[] = []
  const store = openPostgres(url, {
    schema,
    spillDir: join(dir, 'spill'),
    ...LONG_TIMEOUTS,
    addTimeout: 30_000,
    warn: (line) => warnings.push(line),
  })
  onTestFinished(() => store.close())
  await store.open()
  return { store, warnings }
}

const idsOf = async ({ deadLetters }: PostgresStore) =>
  (await deadLetters.list({ limit: 1000 }, at(99))).items.map(({ dlqId }) => dlqId).sort()

const letters = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => letter(from + i))
const idsUpTo = (count: number) =>
  letters(0, count)
    .map(({ dlqId }) => dlqId)
    .sort()

it('keeps acknowledged dead letters and leases in a failover to a standby', async () => {
  const primary = await PostgresServer.start({
    wal_level: 'replica',
    max_wal_senders: '4',
    hot_standby: 'on',
  })
  onTestFinished(() => primary.remove())
  const standby = await primary.startStandby()
  onTestFinished(() => standby.remove())
  const address = await Address.listen(primary.port)
  onTestFinished(() => address.close())
  const url = primary.url.replace(`:${primary.port}/`, `:${address.port}/`)
  const { store, warnings } = await openStore(url, 'failover')
  const { deadLetters } = store
  await deadLetters.add(letters(0, 5), NO_LIMIT)
  expect(await deadLetters.lease('dlq_0', 'me', at(50), at(10))).toMatchObject({ result: 'leased' })
  expect(await deadLetters.complete('dlq_1', at(10))).toMatchObject({ status: 'completed' })

  await primary.crash()
  // The standby accepts no writes before it is promoted, so new entries go to the local disk.
  address.moveTo(standby.port)
  expect((await deadLetters.add(letters(5, 8), NO_LIMIT)).map(({ result }) => result)).toEqual([
    'added',
    'added',
    'added',
  ])
  await expect(deadLetters.complete('dlq_2', at(10))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await idsOf(store)).toEqual(idsUpTo(5))

  await standby.admin('SELECT pg_promote()')
  await expect.poll(() => warnings.join('\n')).toContain('3 dead letters were moved')
  expect(await idsOf(store)).toEqual(idsUpTo(8))
  expect(await deadLetters.lease('dlq_0', 'other', at(60), at(20))).toMatchObject({ result: 'held' })
  expect(await deadLetters.settle('dlq_0', 'me', { status: 'completed', at: at(20) })).toBeDefined()
  expect(await deadLetters.isProcessed('dlq_1')).toBe(true)
}, 300_000)

const disk = smallDisk()

describe.skipIf(disk === undefined)('a PostgreSQL store whose disk is full', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
    const dir = disk as string
    // The user of the server must own the folder of a tablespace.
    execFileSync('chown', ['--reference', join(server.folder, 'data'), dir])
    chmodSync(dir, 0o700)
    await server.admin(`CREATE TABLESPACE small LOCATION '${dir}'`)
    await server.admin('ALTER ROLE postgres SET default_tablespace = small')
  })
  afterAll(async () => {
    await server?.remove()
    if (disk !== undefined) unmount(disk)
  })

  it('writes dead letters to the local disk, and moves them when there is space again', async () => {
    const { store, warnings } = await openStore(server.url, 'full_disk')
    await store.deadLetters.add(letters(0, 2), NO_LIMIT)
    await server.admin('CREATE TABLE public.filler (text text)')
    const fill = 'INSERT INTO public.filler SELECT repeat(md5(n::text), 60) FROM generate_series(1, 4) AS n'
    const errors: unknown[] = []
    while (errors.length === 0)
      await server.admin(fill).catch((error: { code?: string }) => errors.push(error.code))
    expect(errors).toEqual(['53100'])

    // Entries that need new pages, more than there can be in the last ones.
    const large = letters(2, 12).map((entry, i) => ({
      ...entry,
      originalPayload: { i, text: noise(30_000, i) },
    }))
    const added = await store.deadLetters.add(large, NO_LIMIT)
    expect(added.map(({ result }) => result)).toEqual(large.map(() => 'added'))
    expect(warnings.join('\n')).toContain('until PostgreSQL accepts them')
    expect(await store.deadLetters.get('dlq_5', at(99))).toMatchObject({ dlqId: 'dlq_5' })

    await server.admin('DROP TABLE public.filler')
    await server.admin('CHECKPOINT')
    await expect.poll(() => warnings.join('\n')).toContain('10 dead letters were moved')
    expect(await idsOf(store)).toEqual(idsUpTo(12))
  }, 300_000)
})

/** Text that cannot be compressed, so that it needs space. */
function noise(length: number, seed: number): string {
  let state = seed + 1
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return String.fromCharCode(33 + ((state >> 8) % 90))
  }).join('')
}
