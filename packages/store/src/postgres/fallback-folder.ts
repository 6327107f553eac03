import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from 'holdfast'
import { filesStore } from '../files/index.js'
import type { Store } from '../store.js'

/** The folder of a disk fallback. */
export interface FallbackFolder {
  /** Whether an earlier process may have left entries. */
  hasEntries(): boolean
  /** Opens the store of the entries. */
  open(): Promise<Store>
}

/** A folder on the local disk, which belongs to one database. */
export const createFallbackFolder = (
  dir: string,
  databaseName: string,
  warn: (line: string) => void,
): FallbackFolder => ({
  hasEntries: () => existsSync(join(dir, 'dlq')),
  async open() {
    const store = filesStore(dir, { warn })
    await store.open()
    await claimFolder(dir, databaseName).catch(async (error: unknown) => {
      await store.close()
      throw error
    })
    return store
  },
})

/** Writes the name of the database to the folder. @throws STORE_UNAVAILABLE if the folder belongs to another database */
async function claimFolder(dir: string, databaseName: string): Promise<void> {
  const file = join(dir, 'store.txt')
  const found = await readFile(file, 'utf8').catch(() => '')
  if (found === '') return writeFile(file, databaseName, { mode: 0o600 })
  if (found !== databaseName)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `${dir}: expected dead letters of ${databaseName}, got those of ${found}; move the folder away`,
      { status: 503 },
    )
}
