import type { SqliteConnection } from './connection.js'
import { GET_FREE_PAGES, GET_VACUUM_MODE, releasePages } from './statements/connection.js'
import type { WriteQueue } from './write-queue.js'

/** How many free pages stay in the file, because new records need them: 4 MiB. */
const MIN_FREE_PAGES = 1024

/** How many pages one transaction releases. */
const PAGES_PER_STEP = 256

/** How many transactions one call runs, because the end of the process waits for it: 128 MiB. Each retention releases more. */
const MAX_STEPS = 128

const INCREMENTAL = 2

const readPragma = (sql: SqliteConnection, pragma: string): number =>
  Number(Object.values(sql.get(pragma) ?? {})[0])

/** How many free pages can be released; none in a file that was created without this ability. */
const countExcess = (sql: SqliteConnection): number =>
  readPragma(sql, GET_VACUUM_MODE) === INCREMENTAL ? readPragma(sql, GET_FREE_PAGES) - MIN_FREE_PAGES : 0

/** Returns the space of deleted records to the file system, in small transactions. */
export async function releaseFreePages(writes: WriteQueue): Promise<void> {
  let excess = await writes.read(() => countExcess(writes.sql))
  if (excess <= 0) return
  for (let step = 0; step < MAX_STEPS && excess > 0; step++) {
    const pages = Math.min(excess, PAGES_PER_STEP)
    const left = await writes.writeUnflushed(() => {
      writes.sql.exec(releasePages(pages))
      return countExcess(writes.sql)
    })
    if (left >= excess) break // another process uses the pages
    excess = left
  }
  // The file becomes smaller with the next checkpoint.
  await writes.checkpoint()
}
