import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openSqlite, type SqliteOptions } from '../src/sqlite/index.js'

/** A folder that is deleted after the test. */
export async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A store in a file that is closed after the test. */
export async function opened(file: string, options?: SqliteOptions) {
  const store = openSqlite(file, options)
  onTestFinished(() => store.close())
  await store.open()
  return store
}
