// Compiles an example and runs it on the built packages: `node scripts/example.mjs NAME`.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root } from './packages.mjs'

const [, , name = '', ...rest] = process.argv
const dir = join(root, 'examples', name)
const outfile = join(root, '.cache', name, 'main.mjs')
await build({
  entryPoints: [join(dir, 'src/main.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  // No Node.js understands standard decorators yet.
  target: 'node20',
  keepNames: true,
  sourcemap: 'inline',
  logLevel: 'warning',
})
process.argv = [process.argv[0] ?? '', outfile, dir, ...rest]
await import(pathToFileURL(outfile).href)
