import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseConfig } from '../../src/index.js'
import { folder, start } from '../holdfast/setup.js'

let stderr: string[]
beforeEach(() => {
  stderr = []
  vi.spyOn(console, 'error').mockImplementation((line) => void stderr.push(String(line)))
})
afterEach(() => vi.restoreAllMocks())

describe('an id of a member with credentials in it', () => {
  const ids = [
    'http://ann:hunter2@10.0.0.2:80',
    'http://hunter2@10.0.0.2',
    'ann:hunter2@10.0.0.2:80',
    'socks5://a:b/hunter2@h',
  ]

  it.each(ids)('is refused where it is added: %s', async (id) => {
    const { hf } = await start({ pools: { q: { members: [{ id: 'a', url: 'http://127.0.0.1:1' }] } } })
    const error = await hf.pools
      .addMember('q', { id, url: 'http://127.0.0.1:2' })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('expected an id without credentials'),
    })
    expect(JSON.stringify(error) + String(error)).not.toContain('hunter2')
    expect(await hf.config.history()).toEqual([])
    const unknown = await hf.pools.removeMember('q', id).catch((thrown: unknown) => thrown)
    expect(String(unknown)).not.toContain('hunter2')
  })

  it.each(ids)('is refused in the file: %s', (id) => {
    const text = `version: "1.1.0"\npools: { q: { members: [{ id: "${id}", url: "http://127.0.0.1:1" }] } }\n`
    let said = ''
    try {
      parseConfig(text)
    } catch (error) {
      said = JSON.stringify(error) + String(error)
    }
    expect(said).toContain('pools.q.members[0].id')
    expect(said).toContain('expected an id without credentials')
    expect(said).not.toContain('hunter2')
  })

  it('is refused in a file of members', async () => {
    const dir = await folder({
      'holdfast.yaml': 'version: "1.1.0"\nstore: memory\npools: { q: { members_file: m.json } }\n',
      'm.json': JSON.stringify([{ id: ids[0], url: 'http://127.0.0.1:1' }]),
    })
    const error = await start(join(dir, 'holdfast.yaml'), { watch: false }).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('expected an id without credentials')
    expect(String(error)).not.toContain('hunter2')
  })

  it.each(['ann@example.com', 'http://10.0.0.2:80', '10.0.0.2:80', 'eu-1'])('is no other: %s', (id) => {
    const text = `version: "1.1.0"\npools: { q: { members: [{ id: "${id}", url: "http://127.0.0.1:1" }] } }\n`
    expect(parseConfig(text).pools?.q?.members?.[0]?.id).toBe(id)
  })
})

it('a file of members that is not taken is told of and written down', async () => {
  const dir = await folder({
    'holdfast.yaml': 'version: "1.1.0"\nstore: memory\npools: { q: { members_file: m.txt } }\n',
    'm.txt': 'http://127.0.0.1:1\n',
  })
  const { hf, clock, events } = await start(join(dir, 'holdfast.yaml'))
  await writeFile(join(dir, 'm.txt'), 'http://ann:hunter2@127.0.0.1:1 what is this\n')
  while (events.length === 0) {
    await clock.advance(100)
    await new Promise(setImmediate)
  }
  expect(events).toMatchObject([
    {
      eventType: 'config_rejected',
      component: 'config',
      context: { pool: 'q', file: join(dir, 'm.txt'), by: 'file' },
    },
  ])
  expect(events[0]?.context?.reason).toContain('line 1')
  const { items } = await hf.audit.list()
  expect(items).toMatchObject([{ action: 'config.reject', actor: 'file', target: join(dir, 'm.txt') }])
  expect(JSON.stringify([items, events, stderr])).not.toContain('hunter2')
  expect(hf.pools.get('q').members()).toHaveLength(1)
})

describe('a variable for what is not there', () => {
  const warned = async (env: Record<string, string>) => {
    const { hf } = await start(
      { policies: { 'my-pol': {} }, circuitBreakers: { api: {} }, pools: { q: { members: [] } } },
      { env },
    )
    return hf.config.warnings.map(({ path, message }) => `${path} ${message}`)
  }

  it('is told of', async () => {
    expect(await warned({ HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS: '3' })).toEqual([
      expect.stringMatching(
        /^HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS expected a name under policies, which has: my-pol, /,
      ),
    ])
    expect(stderr.join()).toContain('HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS')
    expect(await warned({ HOLDFAST_CIRCUIT_BREAKERS_OTHER_FAILURE_THRESHOLD: '3' })).toEqual([
      'HOLDFAST_CIRCUIT_BREAKERS_OTHER_FAILURE_THRESHOLD expected a name under circuit_breakers, which has: api',
    ])
  })

  it('that is near another is told of as before, and others are not ours', async () => {
    expect(await warned({ HOLDFAST_POLICIES_MY_POL_MAX_ATEMPTS: '3' })).toEqual([
      'HOLDFAST_POLICIES_MY_POL_MAX_ATEMPTS unknown variable (did you mean HOLDFAST_POLICIES_MY_POL_MAX_ATTEMPTS?)',
    ])
    expect(await warned({ HOLDFAST_TOKEN: '3', HOLDFAST_POLICIES_MY_POL_MAX_ATTEMPTS: '4' })).toEqual([])
  })
})

describe('a rollback that does not go with the file', () => {
  const text = (base: number) =>
    `version: "1.1.0"\nstore: memory\npolicies: { p: { base_delay: ${base}, max_delay: 20 } }\n`

  it('leaves no version behind, and is written down', async () => {
    const dir = await folder({ 'holdfast.yaml': text(1) })
    const { hf, events } = await start(join(dir, 'holdfast.yaml'), { watch: false })
    await hf.policies.put({ id: 'p', maxDelay: 5000 }, { by: 'ann' })
    await hf.config.clear({ by: 'ann' })
    await writeFile(join(dir, 'holdfast.yaml'), text(10))
    await hf.config.reload()
    await expect(hf.config.rollback(1, { by: 'zoe', reason: 'back' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
    expect((await hf.config.history()).map(({ version, by }) => [version, by])).toEqual([
      [2, 'ann'],
      [1, 'ann'],
    ])
    const { items } = await hf.audit.list({ limit: 1 })
    expect(items).toMatchObject([
      {
        action: 'config.reject',
        actor: 'zoe',
        target: 'version 1',
        reason: 'back',
        after: { reason: expect.stringContaining('max_delay') },
      },
    ])
    expect(events.at(-1)).toMatchObject({
      eventType: 'config_rejected',
      context: { layer: 'api', by: 'zoe' },
    })
    expect(await hf.policies.get('p')).toMatchObject({ maxDelay: 20_000 })
  })
})

it('explain says which changes through the API are left out', async () => {
  const text = (base: number) =>
    `version: "1.1.0"\nstore: sqlite:kept.db\npolicies: { a: { base_delay: ${base}, max_delay: 60 }, b: {} }\n`
  const dir = await folder({ 'holdfast.yaml': text(1) })
  const file = join(dir, 'holdfast.yaml')
  const first = await start(file, { watch: false })
  await first.hf.policies.put({ id: 'a', maxDelay: 5000 }, { by: 'ann' })
  expect((await first.hf.config.explain('a')).notes.join()).not.toContain('are ignored')
  await first.hf.close()
  await writeFile(file, text(10))
  const { hf } = await start(file, { watch: false })
  expect((await hf.config.explain('a')).notes).toEqual([
    'policies.a: the changes made through the API conflict with the config and are ignored: policies.a.max_delay: expected at least base_delay (10), got 5',
  ])
  expect((await hf.config.explain('b')).notes).toEqual([])
})
