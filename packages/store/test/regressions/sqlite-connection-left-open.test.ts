import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { SqliteConnection } from '../../src/sqlite/connection.js'
import { at } from '../contract/records.js'
import { folder, opened } from '../sqlite-place.js'

it('closes a connection that is being opened while a SQLite store is closed', async () => {
  const dir = await folder()
  const [file, backup] = [join(dir, 'holdfast.db'), join(dir, 'backup.db')]
  const store = await opened(file)
  await copyFile(file, backup)
  await rename(backup, file)
  const realOpen = SqliteConnection.open
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  let goOn = (): void => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  const open = vi.spyOn(SqliteConnection, 'open').mockImplementation(async (...options) => {
    begin()
    await held
    return realOpen(...options)
  })
  const close = vi.spyOn(SqliteConnection.prototype, 'close')
  const read = store.deadLetters.list(undefined, at(0)).catch(() => {})
  await begun
  const closed = store.close()
  // A close that does not wait for the connection has ended after this.
  await new Promise((resolve) => setImmediate(resolve))
  goOn()
  await closed
  await read
  const connection = await open.mock.results[0]?.value
  expect(close.mock.contexts).toContain(connection)
  vi.restoreAllMocks()
})
