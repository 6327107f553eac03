import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

let stderr: string[]
beforeEach(() => {
  stderr = []
  vi.spyOn(console, 'error').mockImplementation((line) => void stderr.push(String(line)))
})
afterEach(() => vi.restoreAllMocks())

it('a members file that is rejected causes an event and an audit record without its text', async () => {
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
