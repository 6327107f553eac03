import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packages } from './packages.mjs'

/** The files of the fuzz targets of all packages by their names. */
export function findFuzzTargets() {
  const files = packages().flatMap(({ dir }) => {
    const folder = join(dir, 'test/fuzz')
    try {
      return readdirSync(folder)
        .filter((file) => file.endsWith('.target.ts'))
        .map((file) => join(folder, file))
    } catch {
      return []
    }
  })
  return new Map(files.map((file) => [basename(file, '.target.ts'), file]))
}
