import { readdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../../src/files/index.js'
import { event } from '../contract/records.js'
import { tempFolder } from '../place.js'

it('does not count the partial line of a killed process that ends with the end of an inner object', async () => {
  const dir = await tempFolder()
  const { events, ...store } = filesStore(dir)
  await store.open()
  onTestFinished(() => store.close())
  await events.append([event(1), event(2)])
  const [name = ''] = (await readdir(join(dir, 'events'))).filter((each) => each.endsWith('.jsonl'))
  const path = join(dir, 'events', name)
  const text = await readFile(path, 'utf8')
  await truncate(path, text.indexOf('}', text.indexOf('\n')) + 1)
  await events.append([event(3)])
  expect((await events.list({ order: 'oldest' })).items).toEqual([event(1), event(3)])
  expect(await events.count()).toBe(2)
  expect(await events.expire({ maxEntries: 2 })).toBe(0)
})
