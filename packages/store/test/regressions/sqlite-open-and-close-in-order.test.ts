import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SqliteConnection } from '../../src/sqlite/connection.js'
import { openSqlite } from '../../src/sqlite/index.js'
import { folder } from '../sqlite-place.js'

/** A store whose thread cannot be started, so that it uses the main thread. */
async function withoutThread() {
  const dir = await folder()
  const warnings = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => warnings.mockRestore())
  const store = openSqlite(join(dir, 'holdfast.db'), { threadEntry: pathToFileURL(join(dir, 'missing.js')) })
  return { store, warnings }
}

it('opens one connection if a SQLite store without a thread is opened twice at the same time', async () => {
  const { store, warnings } = await withoutThread()
  const open = vi.spyOn(SqliteConnection, 'open')
  onTestFinished(() => open.mockRestore())
  await Promise.all([store.open(), store.open()])
  await store.values.set('k', 1)
  await store.close()
  expect(open).toHaveBeenCalledTimes(1)
  expect(warnings).toHaveBeenCalledTimes(1)
  expect(warnings).toHaveBeenCalledWith(expect.stringContaining('missing.js'))
})

it('closes a SQLite store without a thread that is being opened', async () => {
  const { store } = await withoutThread()
  const opening = store.open()
  await store.close()
  await opening
  await expect(store.values.get('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

it('opens a SQLite store again that is being closed in the main thread', async () => {
  const store = openSqlite(join(await folder(), 'holdfast.db'))
  await store.open()
  const written = store.values.set('k', 1)
  const closing = store.close()
  await store.open()
  await Promise.all([written, closing])
  expect(await store.values.get('k')).toBe(1)
  await store.close()
})
