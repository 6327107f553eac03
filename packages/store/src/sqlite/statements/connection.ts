/** How long SQLite itself waits for a lock before it returns BUSY. The event loop is blocked meanwhile. */
const BUSY_TIMEOUT_MS = 4

/** The size of the write-ahead log after which a checkpoint runs, in pages of 4 KiB. It limits how long a checkpoint takes. */
const CHECKPOINT_PAGES = 1000

/** The size to which the write-ahead log is cut after a checkpoint, in bytes. */
const MAX_LOG_SIZE = 8 * 2 ** 20

/** The size of the page cache: enough that the changes of a transaction are written once, at its end. */
const CACHE_KIB = 16_000

/** The first setting of a connection, because the next statements can wait for a lock. */
export const SET_BUSY_TIMEOUT = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`

/** Free pages at any position can be released. It has an effect only before the first table is created. */
export const ENABLE_INCREMENTAL_VACUUM = 'PRAGMA auto_vacuum = INCREMENTAL'

/** Returns the mode that was set: another one than `wal` if the file system does not support it. */
export const ENABLE_WAL = 'PRAGMA journal_mode = WAL'
export const DISABLE_WAL = 'PRAGMA journal_mode = DELETE'

export const FLUSH_COMMITS = 'PRAGMA synchronous = FULL'
export const DO_NOT_FLUSH_COMMITS = 'PRAGMA synchronous = NORMAL'

/** The other settings of a connection. */
export const CONNECTION_SETTINGS = [
  FLUSH_COMMITS,
  `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  `PRAGMA journal_size_limit = ${MAX_LOG_SIZE}`,
  `PRAGMA cache_size = -${CACHE_KIB}`,
  // Deleted payloads must not stay readable in the file.
  'PRAGMA secure_delete = FAST',
]

export const CHECKPOINT_AND_TRUNCATE = 'PRAGMA wal_checkpoint(TRUNCATE)'

/** 2 if free pages can be released. */
export const GET_VACUUM_MODE = 'PRAGMA auto_vacuum'

/** How many pages of the file are not used. */
export const GET_FREE_PAGES = 'PRAGMA freelist_count'

/** Releases free pages by moving used ones from the end of the file. */
export const releasePages = (pages: number): string => `PRAGMA incremental_vacuum(${pages})`

export const BEGIN_READ = 'BEGIN'
export const BEGIN_WRITE = 'BEGIN IMMEDIATE'
export const COMMIT = 'COMMIT'
export const ROLLBACK = 'ROLLBACK'
