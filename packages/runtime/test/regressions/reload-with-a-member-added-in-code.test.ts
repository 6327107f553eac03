import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Holdfast } from '../../src/index.js'
import { MemberTarget } from '../../src/pools/target.js'
import { folder, start } from '../holdfast/setup.js'

const config = (timeout: number, maxAttempts: number, member: object = {}) =>
  JSON.stringify({
    version: '1.2.0',
    store: 'memory',
    policies: { p: { max_attempts: maxAttempts } },
    pools: {
      q: {
        circuit_breaker: { timeout_duration: timeout },
        members: [{ url: 'http://127.0.0.1:1', ...member }],
      },
    },
  })

const timeouts = (hf: Holdfast, ids: readonly string[]) =>
  ids.map((id) => hf.pools.get('q').breaker(id).settings.timeoutDuration)

it('a reload is applied if the new breaker options of a pool contradict those of a member that was added in code', async () => {
  const path = join(await folder({ 'holdfast.json': config(30, 2) }), 'holdfast.json')
  const { hf } = await start(path, { watch: false })
  const pool = hf.pools.get('q')
  const value = new MemberTarget('http://127.0.0.1:2')
  pool.add({ id: 'limited', value, breaker: { maxTimeoutDuration: 60_000 } })
  pool.add({ id: 'sensitive', value, breaker: { failureThreshold: 2 } })
  await writeFile(path, config(300, 4))
  await hf.config.reload()
  expect(await hf.policies.get('p')).toMatchObject({ maxAttempts: 4 })
  // The member with the contradiction keeps its settings.
  expect(timeouts(hf, ['127.0.0.1:1', 'limited', 'sensitive'])).toEqual([300_000, 30_000, 300_000])
})

it('a reload is rejected if the new breaker options of a pool contradict those of a member of the file', async () => {
  const member = { circuit_breaker: { max_timeout_duration: 60 } }
  const path = join(await folder({ 'holdfast.json': config(30, 2, member) }), 'holdfast.json')
  const { hf } = await start(path, { watch: false })
  await writeFile(path, config(300, 4, member))
  await expect(hf.config.reload()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    details: [expect.stringContaining('pools.q.members[0].circuit_breaker.max_timeout_duration: expected')],
  })
  expect(await hf.policies.get('p')).toMatchObject({ maxAttempts: 2 })
  expect(timeouts(hf, ['127.0.0.1:1'])).toEqual([30_000])
})

it('a reload is rejected if the new breaker options of a pool contradict those of a member that was added through the API', async () => {
  const path = join(await folder({ 'holdfast.json': config(30, 2) }), 'holdfast.json')
  const { hf } = await start(path, { watch: false })
  const limited = { id: 'limited', url: 'http://127.0.0.1:2', circuitBreaker: { maxTimeoutDuration: 60_000 } }
  await hf.pools.addMember('q', limited, { by: 'ann' })
  await writeFile(path, config(300, 4))
  await expect(hf.config.reload()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  expect(await hf.policies.get('p')).toMatchObject({ maxAttempts: 2 })
  expect(timeouts(hf, ['127.0.0.1:1', 'limited'])).toEqual([30_000, 30_000])
})

it('a reload is applied if a member that was added in code replaces one of the file', async () => {
  const path = join(await folder({ 'holdfast.json': config(30, 2) }), 'holdfast.json')
  const { hf } = await start(path, { watch: false })
  const pool = hf.pools.get('q')
  const value = new MemberTarget('http://127.0.0.1:1')
  pool.remove('127.0.0.1:1')
  pool.add({ id: '127.0.0.1:1', value, breaker: { maxTimeoutDuration: 60_000 } })
  await writeFile(path, config(300, 4))
  await hf.config.reload()
  expect(timeouts(hf, ['127.0.0.1:1'])).toEqual([30_000])
})
