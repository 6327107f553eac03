import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Memory that is a folder, where there is one: a disk makes suites wait for its flushes. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export const makeFolder = (): Promise<string> => mkdtemp(join(root, 'holdfast-'))

/** A folder that goes with the test. */
export async function tempFolder(): Promise<string> {
  const dir = await makeFolder()
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}
