import { closeSync, openSync } from 'node:fs'

/**
 * Makes a file for its owner alone, because SQLite would give it another mode; tells whether it made one. A file that is
 * there is not opened: closing it would drop the locks that this process has on it.
 */
export function createFileIfMissing(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}
