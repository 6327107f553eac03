import { readdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../../src/files/index.js'
import { event } from '../contract/records.js'
import { tempFolder } from '../place.js'

async function openStore(dir: string) {
  const store = filesStore(dir)
  await store.open()
  onTestFinished(() => store.close())
  return store.events
}

it('keeps records that are appended after a power failure has removed deleted lines that were not flushed', async () => {
  const dir = await tempFolder()
  const events = await openStore(dir)
  await events.append([event(1), event(2), event(3)])
  // The lines of a process that died before it flushed them can be deleted, and the position of the deletion is durable.
  expect(await events.expire({ maxEntries: 1 })).toBe(2)
  const [name = ''] = (await readdir(join(dir, 'events'))).filter((each) => each.endsWith('.jsonl'))
  const path = join(dir, 'events', name)
  await truncate(path, (await readFile(path, 'utf8')).indexOf('\n') + 1)
  const afterwards = await openStore(dir)
  await afterwards.append([event(4)])
  await afterwards.append([event(5)])
  expect((await afterwards.list({ order: 'oldest' })).items).toEqual([event(4), event(5)])
  expect(await afterwards.count()).toBe(2)
})
