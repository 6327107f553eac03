// Bundles the simulation with the sources of all packages of a repository, so that it needs no build and a changed copy of the
// sources can be simulated.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * The options of V8 for a bundle. A simulation runs for a minute or two in one thread, and its CPU time counts. Garbage collection
 * in several threads takes more of it in total. Without lazy feedback and with baseline code from the first call on, V8 optimizes
 * functions sooner. No option changes the trace of a seed.
 */
export const V8_OPTIONS = ['--single-threaded-gc', '--no-lazy-feedback-allocation', '--always-sparkplug']

/**
 * @param {string} root the folder of the repository, or of a copy of it
 * @param {string} outfile
 */
export async function bundleSimulation(root, outfile) {
  const { sourceAliases, sourceLoaders } = await import(
    pathToFileURL(join(root, 'scripts/packages.mjs')).href
  )
  await build({
    entryPoints: [join(root, 'packages/simulation/src/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    alias: sourceAliases,
    loader: sourceLoaders,
    sourcemap: 'inline',
    logLevel: 'warning',
  })
}
