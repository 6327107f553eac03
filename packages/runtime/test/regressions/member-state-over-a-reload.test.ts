import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

it('pools: a member whose weight or threshold changes stays open or drained', async () => {
  const FILE = (weight: number, threshold: number) => `version: "1.1.0"
store: memory
pools:
  p:
    members:
      - { id: a, url: "http://127.0.0.1:1", weight: ${weight}, circuit_breaker: { failure_threshold: ${threshold} } }
      - { id: b, url: "http://127.0.0.1:2", weight: ${weight} }
`
  const dir = await folder({ 'holdfast.yaml': FILE(1, 3) })
  const path = join(dir, 'holdfast.yaml')
  const { hf } = await start(path, { watch: false })
  hf.pools.get('p').breaker('a').trip()
  hf.pools.get('p').drain('b')
  await writeFile(path, FILE(2, 4))
  await hf.config.reload()
  const pool = hf.pools.get('p')
  expect(pool.breaker('a').state).toBe('open')
  expect(pool.status('b')).toBe('drained')
  expect(pool.members().map(({ weight }) => weight)).toEqual([2, 2])
})
