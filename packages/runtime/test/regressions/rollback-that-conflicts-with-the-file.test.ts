import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => vi.restoreAllMocks())

describe('a rollback that conflicts with the file', () => {
  const text = (base: number) =>
    `version: "1.1.0"\nstore: memory\npolicies: { p: { base_delay: ${base}, max_delay: 20 } }\n`

  it('adds no version, and is audited as rejected', async () => {
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
