import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../scripts/packages.mjs'

/** Builds the worker that checks large texts. What `npm run build` has built may be older than the sources, so it is made of these. */
export async function buildWorker(outfile: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('../src/file/worker.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    alias: sourceAliases,
  })
}
