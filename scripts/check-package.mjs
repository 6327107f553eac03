// Packs each package and checks its tarball with publint and, for every `moduleResolution`, with attw.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packAll } from './install/pack.mjs'
import { root } from './packages.mjs'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-pack-'))
const bin = (/** @type {string} */ name) => join(root, 'node_modules/.bin', name)
let failed = false
try {
  for (const { name, tarball, hasCommonJs } of packAll(folder)) {
    for (const [program, ...args] of [
      ['publint', 'run', tarball, '--strict'],
      ['attw', tarball, '--no-emoji', ...(hasCommonJs ? [] : ['--profile', 'esm-only'])],
    ]) {
      const { status, stdout, stderr } = spawnSync(bin(program ?? ''), args, { encoding: 'utf8' })
      if (status === 0) continue
      failed = true
      console.error(`${name}: ${program}\n${stdout}${stderr}`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0
