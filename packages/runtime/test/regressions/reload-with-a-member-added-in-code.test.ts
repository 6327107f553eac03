import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MemberTarget } from '../../src/pools/target.js'
import { folder, start } from '../holdfast/setup.js'

const config = (timeout: number, maxAttempts: number) =>
  JSON.stringify({
    version: '1.2.0',
    store: 'memory',
    policies: { p: { max_attempts: maxAttempts } },
    pools: {
      q: { circuit_breaker: { timeout_duration: timeout }, members: [{ url: 'http://127.0.0.1:1' }] },
    },
  })

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
  const timeouts = ['127.0.0.1:1', 'limited', 'sensitive'].map(
    (id) => pool.breaker(id).settings.timeoutDuration,
  )
  // The member with the contradiction keeps its settings.
  expect(timeouts).toEqual([300_000, 30_000, 300_000])
})
