import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of two mebibytes; undefined where mounting is not allowed. */
export function smallDisk(): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', dir], { stdio: 'ignore' })
    return dir
  } catch {
    rmdirSync(dir)
    return undefined
  }
}

/** One driver lets go of a file only when its statements have been collected: the disk goes when they have. */
export function unmount(dir: string): void {
  execFileSync('umount', ['--lazy', dir])
  rmdirSync(dir)
}
