import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { folder, start } from './setup.js'

const text = (base: number) =>
  `version: "1.1.0"\nstore: sqlite:kept.db\npolicies: { a: { base_delay: ${base}, max_delay: 60 } }\n`

it('a live change that conflicts with the file is ignored, blocks no other change, and applies again after the conflict', async () => {
  const dir = await folder({ 'holdfast.yaml': text(1) })
  const file = join(dir, 'holdfast.yaml')
  const first = await start(file, { watch: false })
  await first.hf.policies.put({ id: 'a', maxDelay: 5000 }, { by: 'ann' })
  await first.hf.policies.put({ id: 'b', maxAttempts: 2 }, { by: 'ann' })
  await first.hf.close()
  await writeFile(file, text(10))
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {})
  const { hf, events } = await start(file, { watch: false })
  const said = stderr.mock.calls.map(([line]) => String(line))
  stderr.mockRestore()
  expect(said).toEqual([
    'holdfast: changes made through the API conflict with the file and are ignored: policies.a.max_delay: expected at least base_delay (10 s), got 5 s',
  ])
  expect(await hf.health()).toMatchObject({ status: 'degraded' })
  expect(await hf.policies.get('a')).toMatchObject({ baseDelay: 10_000, maxDelay: 60_000 })
  expect(await hf.policies.get('b')).toMatchObject({ maxAttempts: 2 })

  await hf.policies.put({ id: 'c', maxAttempts: 7 }, { by: 'bob' })
  expect(await hf.policies.get('c')).toMatchObject({ maxAttempts: 7 })
  expect(hf.config.layer).toEqual({ policies: { b: { max_attempts: 2 }, c: { max_attempts: 7 } } })
  expect(await hf.health()).toMatchObject({ status: 'degraded' })
  await expect(hf.policies.put({ id: 'd', baseDelay: 9000, maxDelay: 1 })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  })

  await writeFile(file, text(2))
  await hf.config.reload({ by: 'bob' })
  expect(await hf.policies.get('a')).toMatchObject({ baseDelay: 2000, maxDelay: 5000 })
  expect(await hf.health()).toMatchObject({ status: 'ok' })
  expect(events.map(({ eventType }) => eventType)).toEqual(['config_reloaded', 'config_reloaded'])

  await writeFile(file, text(20))
  const refused = vi.spyOn(console, 'error').mockImplementation(() => {})
  await expect(hf.config.reload()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  refused.mockRestore()
  expect(await hf.policies.get('a')).toMatchObject({ baseDelay: 2000, maxDelay: 5000 })
})
