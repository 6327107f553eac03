import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => vi.restoreAllMocks())

it('explain lists the live changes that are ignored', async () => {
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
    'policies.a: the changes made through the API conflict with the config and are ignored: policies.a.max_delay: expected at least base_delay (10 s), got 5 s',
  ])
  expect((await hf.config.explain('b')).notes).toEqual([])
})
