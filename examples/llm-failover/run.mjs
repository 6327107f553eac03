// Compiles the example and runs it on the built packages.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const outfile = join(here, '../../.cache/llm-failover/main.mjs')
await build({
  entryPoints: [join(here, 'src/main.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
  logLevel: 'warning',
})
await import(outfile)
