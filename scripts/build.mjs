// Types by `tsc -b`, code by esbuild: a few files, in which what two entries share exists once.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import { packages } from './packages.mjs'

const all = packages()

/** What `guard` can do without lies in files of its own, so that a bundler leaves it out. */
const APART = ['pool/pool.ts', 'retry/budget.ts']

for (const { dir, entries } of all) {
  // Deleted sources and renamed chunks must not live on in what is published.
  const dist = join(dir, 'dist')
  const built = existsSync(dist) ? readdirSync(dist, { recursive: true, encoding: 'utf8' }) : []
  for (const file of built) {
    const source = join(dir, 'src', file.replace(/\.d\.ts$/, '.ts'))
    const stale = file.endsWith('.d.ts') ? !existsSync(source) : /\.js(\.map)?$/.test(file)
    if (stale) rmSync(join(dist, file))
  }

  await build({
    entryPoints: [
      ...entries.map((entry) => entry.source),
      ...APART.map((file) => join(dir, 'src', file)).filter((file) => existsSync(file)),
    ],
    outdir: dist,
    outbase: join(dir, 'src'),
    chunkNames: 'shared-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'neutral',
    format: 'esm',
    target: 'es2022',
    sourcemap: true,
    logLevel: 'warning',
  })
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const types = spawnSync(process.execPath, [tsc, '-b', ...all.map(({ dir }) => dir)], { stdio: 'inherit' })
process.exit(types.status ?? 1)
