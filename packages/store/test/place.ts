import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder in memory if there is one, because tests would wait for flushes of a disk. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export const makeFolder = (): Promise<string> => mkdtemp(join(root, 'holdfast-'))

/** A folder that is deleted after the test. */
export async function tempFolder(): Promise<string> {
  const dir = await makeFolder()
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}
