import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

const FILE = (delay: number, breakers = 'notion: {}') => `version: "1.1.0"
store: memory
policies: { fetch: { base_delay: ${delay} } }
circuit_breakers: { ${breakers} }
`

it('config.reload: rejects a file that contradicts the changes made through the API, and keeps the configuration in force', async () => {
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {})
  const dir = await folder({ 'holdfast.yaml': FILE(0.1) })
  const path = join(dir, 'holdfast.yaml')
  const { hf } = await start(path, { watch: false })
  await hf.policies.put({ id: 'fetch', maxDelay: 1000 })
  await writeFile(path, FILE(5))
  await expect(hf.config.reload()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(await hf.run('fetch', async () => 1)).toBe(1)
  await writeFile(path, FILE(0.1))
  await hf.policies.put({ id: 'fetch', circuitBreaker: 'notion' })
  await writeFile(path, FILE(0.1, ''))
  await expect(hf.config.reload()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  stderr.mockRestore()
})
