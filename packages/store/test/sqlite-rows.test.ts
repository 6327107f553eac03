import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../src/sqlite/index.js'
import { errorRecord, session } from './contract/records.js'

async function opened() {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-rows-'))
  const store = openSqlite(join(dir, 'holdfast.db'))
  await store.open()
  onTestFinished(async () => {
    await store.close()
    await rm(dir, { recursive: true })
  })
  return store
}

it('records of one SQLite row share no objects when they are read', async () => {
  const { sessions } = await opened()
  const context = { tags: ['a'] }
  await sessions.append([1, 2, 3].map((n) => session(n, { context })))
  const { items } = await sessions.list()
  const [first] = items as [(typeof items)[0]]
  ;(first.context as typeof context).tags.push('b')
  expect(items.map((one) => one.context)).toEqual([{ tags: ['a', 'b'] }, context, context])
})

it('a record that cannot be written to SQLite does not change those before and after it', async () => {
  const { errors } = await opened()
  const fine = [1, 2, 3].map((n) => errorRecord(n, { message: `m${n}`, context: { operation: `o${n}` } }))
  const [first, second, third] = fine as [(typeof fine)[0], (typeof fine)[0], (typeof fine)[0]]
  const bad = { ...second, context: { operation: 'o2', big: 1n } }
  const kept = await Promise.allSettled([
    errors.append([bad]),
    errors.append([first]),
    errors.append([bad]),
    errors.append([second]),
    errors.append([third]),
  ])
  expect(kept.map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  expect((await errors.list({ order: 'oldest' })).items).toEqual(fine)
  expect(await errors.count()).toBe(3)
})
