import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openSqlite, type SqliteOptions } from '../src/sqlite/index.js'

/** A folder that goes with the test. */
export async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A store on a file, open until the test ends. */
export async function opened(file: string, options?: SqliteOptions) {
  const store = openSqlite(file, options)
  onTestFinished(() => store.close())
  await store.open()
  return store
}
