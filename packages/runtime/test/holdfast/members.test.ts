import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseConfig } from '../../../config/src/check/check.js'
import { Holdfast } from '../../src/holdfast/holdfast.js'

let dir: string
let open: Holdfast[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-members-'))
  open = []
})

afterEach(async () => {
  for (const hf of open) await hf.close()
  rmSync(dir, { recursive: true, force: true })
})

const FILE = `version: "1.1.0"
store: files:data
pools:
  proxies:
    members:
      - { id: p1, url: "http://ann:hunter2@127.0.0.1:9001", weight: 2, region: eu }
      - { url: "http://127.0.0.1:9002" }
    members_file: more.txt
`

async function start(text = FILE): Promise<Holdfast> {
  writeFileSync(join(dir, 'holdfast.yaml'), text)
  writeFileSync(join(dir, 'more.txt'), 'http://127.0.0.1:9003\n')
  const hf = await Holdfast.open({ config: join(dir, 'holdfast.yaml'), env: {}, watch: false })
  open.push(hf)
  return hf
}

/** The same, with everything in memory. */
async function quick(): Promise<Holdfast> {
  const config = parseConfig(FILE.replace(/store.*\n/, '').replace(/ +members_file.*\n/, ''))
  const hf = await Holdfast.open({ config, env: {} })
  open.push(hf)
  return hf
}

async function restart(hf: Holdfast, text = FILE): Promise<Holdfast> {
  await hf.close()
  return start(text)
}

const seen = (hf: Holdfast) => {
  const pool = hf.pools.get('proxies')
  return pool
    .members()
    .map(({ id, weight = 1, region }) => [id, weight, region ?? '-', pool.status(id)].join(' '))
    .toSorted()
}

const BELOW = ['127.0.0.1:9002 1 - available', '127.0.0.1:9003 1 - available', 'p1 2 eu available']

test('members that were added, changed and removed through the API stay so after a restart', async () => {
  const hf = await start()
  const by = { by: 'ann', reason: 'more room' }
  await hf.pools.addMember(
    'proxies',
    { url: 'http://bob:hunter3@10.0.0.9:8080', weight: 3, region: 'us' },
    by,
  )
  await hf.pools.changeMember('proxies', 'p1', { weight: 7 }, by)
  await hf.pools.changeMember('proxies', '127.0.0.1:9003', { enabled: false }, by)
  await hf.pools.removeMember('proxies', '127.0.0.1:9002', by)
  const after = ['10.0.0.9:8080 3 us available', '127.0.0.1:9003 1 - drained', 'p1 7 eu available']
  expect(seen(hf)).toEqual(after)
  const again = await restart(hf)
  expect(seen(again)).toEqual(after)
  const added = again.pools
    .get('proxies')
    .members()
    .find(({ id }) => id === '10.0.0.9:8080')
  expect(added?.value).toHaveProperty('url', 'http://bob:hunter3@10.0.0.9:8080')
})

test('each change of members is a version that can be rolled back, and is audited without credentials', async () => {
  const hf = await start()
  await hf.pools.addMember('proxies', { id: 'new', url: 'http://bob:hunter3@10.0.0.9:8080' }, { by: 'ann' })
  await hf.pools.changeMember('proxies', 'new', { enabled: false }, { by: 'ann' })
  await hf.pools.removeMember('proxies', 'p1', { by: 'bob' })
  expect(seen(hf)).toEqual([...BELOW.slice(0, 2), 'new 1 - drained'])
  expect((await hf.config.history()).map(({ version, by }) => [version, by])).toEqual([
    [3, 'bob'],
    [2, 'ann'],
    [1, 'ann'],
  ])
  await hf.config.rollback(1, { by: 'ann' })
  expect(seen(hf)).toEqual([...BELOW.slice(0, 2), 'new 1 - available', BELOW[2]])
  await hf.config.clear({ by: 'ann' })
  expect(seen(hf)).toEqual(BELOW)
  const { items } = await hf.audit.list({ order: 'oldest' })
  expect(items.map(({ action, target, actor }) => [action, target, actor])).toEqual([
    ['member.add', 'proxies/new', 'ann'],
    ['member.change', 'proxies/new', 'ann'],
    ['member.remove', 'proxies/p1', 'bob'],
    ['config.rollback', 'version 1', 'ann'],
    ['config.clear', 'layer', 'ann'],
  ])
  expect(items[1]).toMatchObject({ before: { status: 'available' }, after: { status: 'disabled' } })
  expect(JSON.stringify(items)).not.toMatch(/hunter/)
})

test('a change of the file applies together with live changes of members, and is reported if a live change hides it', async () => {
  const hf = await start()
  const notes: unknown[] = []
  hf.events.on('config_reloaded', ({ context }) => notes.push(context?.hidden))
  await hf.pools.changeMember('proxies', 'p1', { weight: 7 })
  notes.length = 0
  writeFileSync(join(dir, 'holdfast.yaml'), FILE.replace('weight: 2, region: eu', 'weight: 5, region: us'))
  await hf.config.reload()
  expect(seen(hf)).toEqual([...BELOW.slice(0, 2), 'p1 7 us available'])
  await new Promise(setImmediate)
  expect(notes).toEqual([
    ['pools.proxies.members: "p1": the weight 5 of the config is hidden by 7, a change through the API'],
  ])
})

test('live changes of a member or pool that the file no longer has are ignored', async () => {
  const hf = await start()
  await hf.pools.changeMember('proxies', 'p1', { weight: 7 })
  const again = await restart(hf, FILE.replace(/ +- \{ id: p1.*\n/, ''))
  expect(seen(again)).toEqual(BELOW.slice(0, 2))
  const gone = await restart(again, 'version: "1.1.0"\nstore: files:data\n')
  expect(await gone.pools.list()).toEqual([])
})

test('a change of the fields of a member, or of the strategy of its pool, keeps its state', async () => {
  const hf = await start()
  const pool = hf.pools.get('proxies')
  for (let i = 0; i < 9; i++)
    await hf
      .run(
        'fetch',
        ({ member }) => {
          if (member?.id === 'p1') throw Object.assign(new Error('gone'), { status: 410 })
        },
        { pool: 'proxies' },
      )
      .catch(() => {})
  const known = () => pool.members().map(({ id }) => pool.stats(id))
  const before = known()
  expect(before.map(({ totalAttempts }) => totalAttempts)).toEqual([3, 3, 3])
  const { value } = pool.members()[0]!
  await hf.pools.changeMember('proxies', 'p1', { weight: 7 })
  expect(known()).toEqual(before)
  expect(pool.members()[0]).toMatchObject({ weight: 7, value })
  writeFileSync(
    join(dir, 'holdfast.yaml'),
    FILE.replace('region: eu', 'region: us').replace('proxies:', 'proxies:\n    strategy: least_used'),
  )
  await hf.config.reload()
  expect(hf.pools.get('proxies')).toBe(pool)
  expect(known()).toEqual(before)
  expect(pool.members()[0]).toMatchObject({ weight: 7, region: 'us' })
  pool.add({ id: 'own', value: 'anything' })
  await hf.run('fetch', () => {}, { pool: 'proxies' })
  expect(pool.stats('own').totalAttempts).toBe(1)
  await hf.pools.changeMember('proxies', 'own', { weight: 4 })
  expect(pool.stats('own').totalAttempts).toBe(1)
})

test('a removed member can be added again with other fields', async () => {
  const hf = await start()
  await hf.pools.removeMember('proxies', 'p1')
  await hf.pools.addMember('proxies', { id: 'p1', url: 'http://127.0.0.1:9009' })
  expect(seen(hf)).toEqual([...BELOW.slice(0, 2), 'p1 1 - available'])
  expect(seen(await restart(hf))).toEqual([...BELOW.slice(0, 2), 'p1 1 - available'])
})

test('changes of a member that was added in code last until the process ends', async () => {
  const hf = await quick()
  hf.pools.get('proxies').add({ id: 'own', value: 'anything' })
  await hf.pools.changeMember('proxies', 'own', { weight: 4, enabled: false })
  expect(seen(hf)).toContain('own 4 - drained')
  await hf.pools.removeMember('proxies', 'own')
  expect(seen(hf)).toEqual([BELOW[0], BELOW[2]])
  expect(await hf.config.history()).toEqual([])
})

test('a member that was drained in code can be enabled through the API', async () => {
  const hf = await quick()
  hf.pools.get('proxies').drain('p1')
  await hf.pools.changeMember('proxies', 'p1', { enabled: true })
  expect(seen(hf)).toEqual([BELOW[0], BELOW[2]])
})

test.each([
  [{ url: 'ftp://ann:hunter2@10.0.0.9' }],
  [{ url: 'hunter2' }],
  [{ url: 5 }],
  [{ id: '', url: 'http://10.0.0.9' }],
  [{ id: 'p1', url: 'http://10.0.0.9' }],
  [{ url: 'http://10.0.0.9', weight: -1 }],
  [{ url: 'http://10.0.0.9', weight: Number.NaN }],
])('%j is rejected as a new member, and nothing changes', async (member) => {
  const hf = await quick()
  const refused = await hf.pools.addMember('proxies', member as never).catch((error) => error)
  expect(refused).toMatchObject({ code: 'INVALID_OPTIONS' })
  expect(refused.message).not.toContain('hunter2')
  expect(seen(hf)).toEqual([BELOW[0], BELOW[2]])
  expect(await hf.config.history()).toEqual([])
})

test('unknown members and pools are rejected', async () => {
  const hf = await quick()
  const { pools } = hf
  for (const refused of [
    pools.addMember('none', { url: 'http://10.0.0.9' }),
    pools.changeMember('proxies', 'unknown', { weight: 2 }),
    pools.removeMember('proxies', 'unknown'),
  ])
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})
