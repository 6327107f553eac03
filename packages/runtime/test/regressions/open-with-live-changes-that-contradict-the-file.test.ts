import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

const FILE = (delay: number, breakers = 'notion: {}') => `version: "1.1.0"
store: memory
policies: { fetch: { base_delay: ${delay} } }
circuit_breakers: { ${breakers} }
`

it('open: ignores a change made through the API that contradicts the file, and reports it', async () => {
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {})
  const dir = await folder({ 'holdfast.yaml': FILE(0.1) })
  await mkdir(join(dir, 'data'))
  const path = join(dir, 'holdfast.yaml')
  const store = `sqlite:${join(dir, 'h.db')}`
  const first = await start(path, { watch: false, store })
  await first.hf.policies.put({ id: 'fetch', circuitBreaker: 'notion' })
  await first.hf.close()
  await writeFile(path, FILE(0.1, ''))
  const { hf } = await start(path, { watch: false, store })
  expect(await hf.health()).toMatchObject({ status: 'degraded' })
  expect(await hf.run('fetch', async () => 1)).toBe(1)
  expect(stderr.mock.calls.flat().join()).toMatch(/conflict with the file/)
  await hf.config.clear()
  stderr.mockRestore()
})
