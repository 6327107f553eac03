import { closeSync, openSync } from 'node:fs'

/**
 * Creates a file with access for the owner only, because SQLite would use another mode; returns whether it was created. An
 * existing file is not opened, because closing it would release the locks that this process has on it.
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
