import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { systemErrorCode } from './disk.js'
import { THIS_PROCESS } from './process-identity.js'

/** The files in the folder of a lock: `7` is the claim of the seventh holder, `7.free` means that it has released the lock. */
const CLAIM_PATTERN = /^(\d+)(\.free)?$/

/** The number of the holder to which a file belongs; undefined for other files. */
export function claimNumber(name: string): number | undefined {
  const digits = CLAIM_PATTERN.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The number of the last holder, and whether it has released the lock. */
export function lastOf(names: readonly string[]): { generation: number; isReleased: boolean } {
  let generation = 0
  let isReleased = false
  for (const name of names) {
    const [, digits, free] = CLAIM_PATTERN.exec(name) ?? []
    const number = Number(digits)
    if (digits === undefined || number < generation) continue
    isReleased = free !== undefined || (number === generation && isReleased)
    generation = number
  }
  return { generation, isReleased }
}

/** Errors of file systems without hard links, in which each claim is a separate file. */
export const NO_HARD_LINK_CODES = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'])

/** Creates a file that identifies this process; false if it exists already. */
export function createFile(path: string): boolean {
  try {
    writeFileSync(path, THIS_PROCESS, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** The content of a file; undefined if it does not exist. */
export function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error
  }
}
