import { join } from 'node:path'
import { expect, it } from 'vitest'
import { event } from '../contract/records.js'
import { folder, opened } from '../sqlite-place.js'

it('keeps the records of other callers if a record without a time is rejected', async () => {
  const store = await opened(join(await folder(), 'holdfast.db'))
  const { timestamp: _, ...invalid } = event(2)
  const appended = [event(1), invalid as never, event(3)].map((record) => store.events.append([record]))
  const results = await Promise.allSettled(appended)
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((await store.events.list({ order: 'oldest' })).items).toEqual([event(1), event(3)])
  expect(store.damaged).toBe(false)
})
