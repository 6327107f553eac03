import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of 2 MiB; undefined if mounting is not allowed. */
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

/** Unmounts lazily, because a driver closes a file only after its statements are garbage collected. */
export function unmount(dir: string): void {
  execFileSync('umount', ['--lazy', dir])
  rmdirSync(dir)
}
