// Data of every release, written by `npm run golden`. The current sources must read all of it.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Holdfast, toWire } from '@holdfast/runtime'
import { seededRandom } from 'holdfast/testing'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  ENVIRONMENT,
  fixedClock,
  readConfig,
  readRecords,
  readResponses,
} from '../../../../scripts/golden/scenario.mjs'
import { PostgresServer } from '../../../../scripts/servers/postgres.mjs'
import { findRedis, RedisServer } from '../../../../scripts/servers/redis.mjs'
import { parseMessage, parseNodeRecord } from '../../../fleet/src/replies.js'
import { createApp } from '../../src/app/app.js'
import { createToken, listTokens } from '../../src/auth/tokens.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const golden = join(root, 'test/golden')
const versions = readdirSync(golden, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
)
const redis = await findRedis(root)

it('exists for the current version', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
  expect(versions).toContain(version)
})

/** A copy of a fixture, because reading can migrate a store. */
function copyOf(file: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, 'copy')
  cpSync(file, copy, { recursive: true })
  return copy
}

describe.each(versions)('data of release %s', (version) => {
  const path = (file: string) => join(golden, version, file)
  const json = (file: string) => JSON.parse(readFileSync(path(file), 'utf8'))

  async function open(store: string): Promise<Holdfast> {
    const hf = await Holdfast.open({
      config: path('config/holdfast.yaml'),
      store,
      env: ENVIRONMENT,
      clock: fixedClock(),
      random: seededRandom(2),
      watch: false,
    })
    onTestFinished(() => hf.close())
    return hf
  }

  /** Every record is there with every field of its release. Later releases may add fields. */
  async function expectRecords(hf: Holdfast, expected: Record<string, unknown[]>): Promise<void> {
    const records: Record<string, unknown[]> = await readRecords(hf, { toWire, listTokens })
    for (const [kind, list] of Object.entries(expected)) {
      if (kind === 'policies') {
        const byId = new Map((records[kind] as { id: string }[]).map((policy) => [policy.id, policy]))
        for (const policy of list as { id: string }[])
          expect(byId.get(policy.id), policy.id).toMatchObject(policy)
      } else expect(records[kind], kind).toMatchObject(list)
    }
  }

  /** The payload is decrypted and replayed, and the entry is completed. */
  async function expectReplay(hf: Holdfast): Promise<void> {
    const { items } = await hf.deadLetters.list({ operation: 'orders.save' })
    const payloads: unknown[] = []
    hf.deadLetters.handle('orders.save', (payload) => payloads.push(payload))
    const replayed = await hf.deadLetters.replay(items[0]?.dlqId ?? '')
    expect(payloads).toEqual([{ order: 7, items: ['a', 'b'] }])
    expect(replayed.status).toBe('completed')
  }

  it('a SQLite file is read, and a dead letter is replayed', async () => {
    const hf = await open(`sqlite:${copyOf(path('sqlite/holdfast.db'))}`)
    await expectRecords(hf, json('sqlite/expected.json'))
    await expectReplay(hf)
  })

  it('a files: folder is read, and a dead letter is replayed', async () => {
    const hf = await open(`files:${copyOf(path('files/store'))}`)
    await expectRecords(hf, json('files/expected.json'))
    await expectReplay(hf)
  })

  it('a PostgreSQL dump is read, and a dead letter is replayed', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.remove())
    await server.admin(readFileSync(path('postgres/dump.sql'), 'utf8'))
    const hf = await open(server.url)
    await expectRecords(hf, json('postgres/expected.json'))
    await expectReplay(hf)
    await hf.close()
  })

  it('credentials of a member that was added through the API are decrypted', async () => {
    const hf = await open(`sqlite:${copyOf(path('sqlite/holdfast.db'))}`)
    const [pool] = await hf.pools.list()
    const added = pool?.members().find(({ id }) => id === 'p3')
    expect(JSON.stringify(added)).toContain('p3.example')
  })

  it.each(readdirSync(join(golden, version, 'config')).filter((name) => name.endsWith('.yaml')))(
    'the config file %s resolves to the same policies',
    async (name) => {
      const expected = json('config/expected.json')[name]
      const { policies, explained } = await readConfig(Holdfast, path(`config/${name}`), toWire)
      expect(explained).toMatchObject(expected.explained)
      for (const policy of expected.policies)
        expect(policies.find(({ id }: { id: string }) => id === policy.id)).toMatchObject(policy)
    },
  )

  it('the REST API responds with every field of the release', async () => {
    const hf = await open(`sqlite:${copyOf(path('sqlite/holdfast.db'))}`)
    const { token } = await createToken(hf, { name: 'reader', role: 'viewer', by: 'golden' })
    const app = createApp(hf)
    onTestFinished(() => app.close())
    const responses = await readResponses(app, token, path('config'))
    for (const [request, expected] of Object.entries(json('rest/responses.json')))
      expect(responses[request], request).toMatchObject(expected as object)
  })

  const fleet = json('redis/fleet.json')

  it('every message of a fleet is understood', () => {
    expect(fleet.messages.length).toBeGreaterThan(5)
    for (const { message } of fleet.messages)
      expect(parseMessage(message)).toEqual({ value: expect.anything() })
    for (const record of Object.values(fleet.keys['holdfast:{nodes}:records'].value))
      expect(parseNodeRecord(record)).toEqual({ value: expect.anything() })
  })

  it.skipIf(typeof redis === 'string')('a node joins a fleet with the keys of the release', async () => {
    if (typeof redis === 'string') return
    const server = await RedisServer.start(redis)
    onTestFinished(() => server.kill())
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    for (const [key, { type, value }] of Object.entries<{ type: string; value: never }>(fleet.keys)) {
      if (type === 'string') await client.set(key, value)
      else if (type === 'hash') await client.hset(key, value)
      else if (type === 'zset')
        await client.zadd(
          key,
          ...(value as string[]).flatMap((_, i, all) => (i % 2 ? [] : [all[i + 1] ?? '', all[i] ?? ''])),
        )
      else if (type === 'stream')
        for (const [id, fields] of value as [string, string[]][]) await client.xadd(key, id, ...fields)
      else expect.unreachable(`${key}: ${type}`)
    }
    // The breaker stays open for an hour, however old the fixture is.
    const [seconds = 0] = await client.time()
    await client.hset('holdfast:{service:archive}:state', 'until', (Number(seconds) + 3600) * 1000)
    const warnings: unknown[] = []
    const warn = (...line: unknown[]) => warnings.push(line)
    const hf = await Holdfast.open({
      config: path('config/holdfast.yaml'),
      store: 'memory',
      env: { ...ENVIRONMENT, HOLDFAST_SHARED: server.url, HOLDFAST_NODE_ID: 'current' },
      logger: { debug: () => {}, info: () => {}, warn, error: warn },
      watch: false,
    })
    onTestFinished(() => hf.close())
    expect((await hf.nodes()).map(({ id }) => id)).toContain('current')
    const state = (await hf.breakers.list()).find(({ id }) => id === 'service:archive')
    expect(state?.state).toBe('open')
    expect(warnings.flat().filter((part) => typeof part === 'string')).toEqual([
      expect.stringContaining("'service:archive' opened"),
    ])
  })
})
