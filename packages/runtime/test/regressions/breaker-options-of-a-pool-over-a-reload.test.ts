import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

const config = (breaker: object, member: object) =>
  JSON.stringify({
    version: '1.2.0',
    store: 'memory',
    pools: {
      p: {
        circuit_breaker: breaker,
        members: [{ id: 'a', url: 'http://127.0.0.1:1', circuit_breaker: member }],
      },
    },
  })

async function reload(before: string, after: string) {
  const path = join(await folder({ 'holdfast.json': before }), 'holdfast.json')
  const { hf } = await start(path, { watch: false })
  await hf.breakers.trip('pool:p:a', { by: 'me', reason: 'test' })
  await writeFile(path, after)
  await hf.config.reload()
  return hf
}

describe('a reload that changes the breaker options of a pool', () => {
  it('applies them to members that override other options, and keeps the states of their breakers', async () => {
    const hf = await reload(
      config({ timeout_duration: 30 }, { failure_threshold: 2 }),
      config({ timeout_duration: 300 }, { failure_threshold: 2 }),
    )
    expect(await hf.breakers.get('pool:p:a')).toMatchObject({
      state: 'open',
      timeoutDuration: 300_000,
      failureThreshold: 2,
    })
  })

  it('can change the options of a member that they would contradict', async () => {
    const hf = await reload(
      config({ timeout_duration: 30 }, { max_timeout_duration: 60 }),
      config({ timeout_duration: 300 }, { max_timeout_duration: 600 }),
    )
    expect(await hf.breakers.get('pool:p:a')).toMatchObject({ timeoutDuration: 300_000 })
  })
})
